package irc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A memory is an inbox that keeps what it takes.
type memory struct {
	mu    sync.Mutex
	as    []string
	taken []plugins.Received
	notes map[string][]byte
	away  bool // NATS is
}

func (in *memory) Connected(as string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.as = append(in.as, as)
}

func (in *memory) Take(ctx context.Context, m plugins.Received) error {
	in.mu.Lock()
	away := in.away
	if !away {
		in.taken = append(in.taken, m)
	}
	in.mu.Unlock()
	if away {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (in *memory) Note(_ context.Context, name string) ([]byte, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.notes[name], nil
}

func (in *memory) SetNote(_ context.Context, name string, value []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.notes == nil {
		in.notes = map[string][]byte{}
	}
	in.notes[name] = value
	return nil
}

func (in *memory) messages() []plugins.Received {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.taken)
}

func (in *memory) name() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.as) == 0 {
		return ""
	}
	return in.as[len(in.as)-1]
}

// next waits for the nth message.
func (in *memory) next(t *testing.T, n int) plugins.Received {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("message %d", n), func() bool { return len(in.messages()) >= n })
	return in.messages()[n-1]
}

// serve runs a channel, again and again as a courier does, until stop is called.
func serve(t *testing.T, c *Channel, in inbox) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := c.run(ctx, in); ctx.Err() == nil {
				t.Log("run:", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func channel(t *testing.T, s settings.IRC) *Channel {
	t.Helper()
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deliver sends until the platform has it, as a courier does.
func deliver(t *testing.T, c *Channel, m plugins.Message) string {
	t.Helper()
	var id string
	waittest.Until(t, "the line is delivered", func() bool {
		var err error
		if id, err = c.Deliver(t.Context(), m); err != nil {
			t.Log("deliver:", err)
		}
		return err == nil
	})
	return id
}
