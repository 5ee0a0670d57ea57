package email

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/email/emailtest"
	"agenthost/plugins/settings"
)

const bot = emailtest.Address

// account is that of the servers.
func account(p *emailtest.Server) settings.Email {
	server := func(address string) settings.MailServer {
		return settings.MailServer{Server: address, User: emailtest.User, Password: emailtest.Password, TLS: tlsOff}
	}
	return settings.Email{Address: bot, Name: "Shop", IMAP: server(p.IMAP), SMTP: server(p.SMTP)}
}

// A memory is an inbox that keeps what it takes.
type memory struct {
	mu    sync.Mutex
	as    []string
	taken []plugins.Received
	odd   []string // what was refused: id and cause
	notes map[string][]byte
	away  bool
}

func (in *memory) Connected(as string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.as = append(in.as, as)
}

func (in *memory) Take(_ context.Context, m plugins.Received) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.away {
		return errors.New("NATS is away")
	}
	if slices.ContainsFunc(in.taken, func(known plugins.Received) bool { return known.ID == m.ID && known.From == m.From }) {
		return nil
	}
	in.taken = append(in.taken, m)
	return nil
}

func (in *memory) Refused(m plugins.Received, why error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.odd = append(in.odd, m.ID+": "+why.Error())
}

func (in *memory) MaxFile() int64 { return 1000 }

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

func (in *memory) connected() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.as)
}

func (in *memory) next(t testing.TB, n int) plugins.Received {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("mail %d", n), func() bool { return len(in.messages()) >= n })
	return in.messages()[n-1]
}

// serve runs a channel, again and again as a courier does.
func serve(t testing.TB, c *Channel, in *memory) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	known := in.connected()
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := c.run(ctx, in); ctx.Err() == nil {
				t.Log("run:", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	waittest.Until(t, "the mailbox is open", func() bool {
		note, _ := in.Note(ctx, cursor)
		return in.connected() > known && note != nil
	})
	return stop
}

func channel(t testing.TB, s settings.Email) *Channel {
	t.Helper()
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	c.lookup = func(string) ([]string, error) { return nil, errors.New("no DNS") }
	return c
}
