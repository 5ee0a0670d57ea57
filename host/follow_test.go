package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

// story is a script whose answer comes in n pieces, and the answer.
func story(n int) (script, whole string) {
	b := strings.Builder{}
	b.WriteString("rules:\n  - delay: 4ms\n    reasoning: hm\n    chunks:\n")
	for i := range n {
		piece := fmt.Sprintf("(%d é)", i)
		fmt.Fprintf(&b, "      - '%s'\n", piece)
		whole += piece
	}
	return b.String(), whole
}

// outside is a connection of its own to a host's NATS.
func outside(t *testing.T, h *host.Host) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(h.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Whoever joins while a model speaks hears all of it once, also when messages
// are lost on the way.
func TestFollow(t *testing.T) {
	script, whole := story(150)
	cfg := scripted(t, script)
	listen := "127.0.0.1:0"
	cfg.NATS.Embedded.Listen, cfg.NATS.Embedded.Anonymous = &listen, bus.AnonymousAll
	h, _ := start(t, cfg)
	out := outbound(t, h.Bus().NC, 1)
	said := make(chan struct{})
	go func() {
		defer close(said)
		r := out()[0]
		if r.Text != whole {
			t.Errorf("reply: got %q", r.Text)
		}
	}()
	const followers = 12
	moments := whenSaid(t, h, len(whole), followers)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "tell"})
	var all sync.WaitGroup
	for i := range followers {
		nc := outside(t, h)
		all.Go(func() {
			waittest.For(t, "the answer is that far", moments[i])
			text, end := "", ""
			follow := client.New(nc, h.Bus().JS, client.Options{}).Follow(t.Context(), "demo", "demo/dm/ana")
			if i%2 == 1 {
				follow = lossy(t, nc)
			}
			for c, err := range follow {
				if err != nil {
					t.Error(err)
					return
				}
				if c.Reasoning != "" {
					continue
				}
				if c.Offset != len(text) || c.Turn != 1 {
					t.Errorf("follower %d: turn %d, offset %d behind %d bytes", i, c.Turn, c.Offset, len(text))
					return
				}
				text += c.Text
				if end = c.End; end != "" {
					break
				}
			}
			if text != whole || end != agents.EndDone {
				t.Errorf("follower %d: got %q, end %q", i, text, end)
			}
		})
	}
	all.Wait()
	<-said
}

// whenSaid returns n channels; the one at i is closed once i parts of n of an
// answer of so many bytes have been streamed to the session demo/dm/ana.
func whenSaid(t *testing.T, h *host.Host, size, n int) []chan struct{} {
	t.Helper()
	moments := make([]chan struct{}, n)
	for i := range moments {
		moments[i] = make(chan struct{})
	}
	passed := 0
	_, err := h.Bus().NC.Subscribe(agents.StreamSubject("demo", "demo/dm/ana"), func(m *nats.Msg) {
		c := client.Chunk{}
		if json.Unmarshal(m.Data, &c) != nil {
			return
		}
		for ; passed < n && c.Offset+len(c.Text) >= size*passed/n; passed++ {
			close(moments[passed])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return moments
}

// lossy follows where half of the first 100 pieces get lost.
func lossy(t *testing.T, nc *nats.Conn) func(func(client.Chunk, error) bool) {
	return func(yield func(client.Chunk, error) bool) {
		f := client.NewFollower(nc, "demo", "demo/dm/ana")
		received := make(chan *nats.Msg, 1000)
		for _, subject := range f.Subjects() {
			if _, err := nc.ChanSubscribe(subject, received); err != nil {
				yield(client.Chunk{}, err)
				return
			}
		}
		for {
			select {
			case msg := <-received:
				if !strings.Contains(string(msg.Data), "(1") && rand.IntN(2) == 0 && !strings.Contains(string(msg.Data), `"end"`) {
					continue
				}
				for _, c := range f.Take(msg) {
					if !yield(c, nil) {
						return
					}
				}
			case <-t.Context().Done():
				yield(client.Chunk{}, t.Context().Err())
				return
			}
		}
	}
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	listen := "127.0.0.1:0"
	cfg := demo(t)
	cfg.NATS.Embedded.Listen, cfg.NATS.Embedded.Anonymous = &listen, bus.AnonymousAll
	h, _ := start(t, cfg)
	nc := outside(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range client.New(nc, h.Bus().JS, client.Options{}).Follow(ctx, "demo", "demo/dm/ana") {
		t.Errorf("got %v after the end of ctx", err)
	}
	time.AfterFunc(50*time.Millisecond, nc.Close)
	for range 2 {
		n := 0
		for _, err := range client.New(nc, h.Bus().JS, client.Options{}).Follow(t.Context(), "demo", "demo/dm/ana") {
			if n++; !errors.Is(err, nats.ErrConnectionClosed) {
				t.Errorf("got %v, want %v", err, nats.ErrConnectionClosed)
			}
		}
		if n != 1 {
			t.Errorf("got %d errors, want 1", n)
		}
	}
}
