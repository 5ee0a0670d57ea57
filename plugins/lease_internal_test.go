package plugins

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/plugins/settings"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A host that stood still asks whose the account is before it delivers what it held, and
// leaves it to the next owner: what has come to that one since may have to go out first.
func TestHeldRepliesWaitForTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		platform := &recording{}
		c := New(Account{Channel: "test", Settings: settings.Account{}}, platform, Parts{Host: "host-1", Log: zerolog.Nop()})
		server := &pinned{}
		term := &term{c: c}
		term.work, term.endWork = context.WithCancel(t.Context())
		term.open, term.endOpen = context.WithCancel(term.work)
		term.outbox, term.activities = newOutbox(term), newActivities(term)
		term.gate.open()
		defer term.outbox.workers.Wait()
		defer term.endWork()
		e := &election{c: c, consumer: server, term: term, pin: "mine"}

		expect := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := platform.all(); !slices.Equal(got, want) {
				t.Fatalf("%s: delivered %q, want %q", what, got, want)
			}
		}
		server.pin = "mine"
		e.look(t.Context())
		term.outbox.enqueue(held("one"))
		expect("its own", "one")

		term.outbox.older, term.outbox.left = true, &leftover{set: map[string]int{}}
		term.outbox.set = []*item{held("two")}
		server.pin, server.pending = "another's", 2
		time.Sleep(time.Minute) // it stands still
		term.outbox.enqueue(held("three"))
		expect("after it stood still", "one")
		e.look(t.Context())
		expect("while it may be another's", "one")

		server.pin, server.pending = "mine", 0
		e.look(t.Context())
		expect("its own again", "one", "three", "two")
	})
}

// held is a reply to a chat of its own.
func held(text string) *item {
	it := &item{key: text, sentAt: time.Now(), envelope: []byte(`{"id":"` + text + `","text":"` + text + `","to":"` + text + `"}`)}
	var m jetstream.Msg = acknowledged{}
	it.msg.Store(&m)
	return it
}

type acknowledged struct{ jetstream.Msg }

func (acknowledged) Ack() error { return nil }

// pinned is a consumer whose messages go to the holder of a pin.
type pinned struct {
	jetstream.Consumer
	pin     string
	pending int
}

func (p *pinned) Info(context.Context) (*jetstream.ConsumerInfo, error) {
	groups := []jetstream.PriorityGroupState{{Group: ownerGroup, PinnedClientID: p.pin}}
	return &jetstream.ConsumerInfo{PriorityGroups: groups, NumAckPending: p.pending, NumPending: 1}, nil
}

// recording keeps the texts that are delivered.
type recording struct {
	Channel
	mu    sync.Mutex
	texts []string
}

func (r *recording) Limits() Limits { return Limits{Text: 1000, Idempotent: true} }

func (r *recording) Deliver(_ context.Context, m Message) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, m.Text)
	return m.Text, nil
}

func (r *recording) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.texts))
}
