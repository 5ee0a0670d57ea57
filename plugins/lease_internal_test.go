package plugins

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/plugins/settings"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A host that stood still asks whose the account is before it delivers what it held, and
// leaves it to the next owner: what has come to that one since may have to go out first.
func TestHeldRepliesWaitForTheOwner(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		e, server, platform := owning(t)
		term := e.term
		expect := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := platform.all(); !slices.Equal(got, want) {
				t.Fatalf("%s: delivered %q, want %q", what, got, want)
			}
		}
		server.pin = "mine"
		e.look(t.Context())
		term.outbox.enqueue(e.held("one"))
		expect("its own", "one")

		term.outbox.older, term.outbox.left = true, &leftover{set: map[string]int{}}
		term.outbox.set = []*item{e.held("two")}
		server.pin, server.pending = "another's", 2
		time.Sleep(time.Minute) // it stands still
		term.outbox.enqueue(e.held("three"))
		expect("after it stood still", "one")
		e.look(t.Context())
		expect("while it may be another's", "one")

		server.pin, server.pending = "mine", 0
		e.look(t.Context())
		expect("its own again", "one", "three", "two")
	})
}

// owning is a host that owns the account, until the test ends.
func owning(t *testing.T) (*election, *pinned, *recording) {
	t.Helper()
	platform, server := &recording{}, &pinned{pin: "mine"}
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { _ = publisher.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	c := New(Account{Channel: "test", Settings: settings.Account{}}, platform, Parts{
		NC: b.NC, JS: b.JS, Publisher: publisher, Reader: records.NewReader(b.JS), Host: "host-1", Log: zerolog.Nop(),
	})
	term := &term{c: c}
	term.work, term.endWork = context.WithCancel(t.Context())
	term.open, term.endOpen = context.WithCancel(term.work)
	term.outbox, term.activities = newOutbox(term), newActivities(term)
	term.gate.open()
	t.Cleanup(func() { term.endWork(); term.outbox.workers.Wait() })
	return &election{c: c, consumer: server, term: term, pin: "mine", heard: time.Now()}, server, platform
}

// Newer replies of a chat wait for an older one that was lost on its way for as long as it
// takes to come again: it may be lost once more, or NATS may have no leader that delivers it.
func TestNewerRepliesWaitForALostOne(t *testing.T) {
	for name, trouble := range map[string]func(e *election, server *pinned){
		"lost again": func(e *election, server *pinned) {
			server.delivered = e.count + 1
			e.lookFor(8 * time.Second)
		},
		"NATS away": func(e *election, server *pinned) {
			e.lookFor(8 * time.Second)
			server.err = errors.New("no leader")
			e.lookFor(5 * time.Second)
			server.err = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				e, server, platform := owning(t)
				o := e.term.outbox
				e.count, server.delivered, server.pending = 7, 7, 2
				o.waitForOlder()
				older, newer := e.held("ana"), e.held("ana")
				older.seq, newer.seq, newer.envelope = 3, 4, []byte(`{"id":"2","text":"newer","to":"ana"}`)
				o.left = &leftover{keys: map[uint64]string{3: "ana"}, missing: map[string]int{"ana": 1}, set: map[string]int{"ana": 1}}
				o.held[4], o.set = newer, []*item{newer}

				trouble(e, server)
				e.lookFor(5 * time.Second)
				synctest.Wait()
				if texts := platform.inOrder(); len(texts) > 0 {
					t.Fatalf("delivered %q before what was lost", texts)
				}
				e.count = server.delivered
				o.mu.Lock()
				o.held[3], o.set = older, append(o.set, older)
				o.left.arrived(3)
				o.mu.Unlock()
				e.lookFor(time.Second)
				synctest.Wait()
				if texts := platform.inOrder(); !slices.Equal(texts, []string{"ana", "newer"}) {
					t.Errorf("delivered %q", texts)
				}
			})
		})
	}
}

// lookFor asks for the owner again and again, as one does that waits for replies.
func (e *election) lookFor(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(lookOften) {
		e.look(context.Background())
	}
}

// held is a reply to a chat of its own.
func (e *election) held(text string) *item {
	it := &item{key: text, sentAt: time.Now(), envelope: []byte(`{"id":"` + text + `","text":"` + text + `","to":"` + text + `"}`)}
	it.ack.Store(&acknowledgement{e.c.parts.NC, "test.ack"})
	return it
}

// pinned is a consumer whose messages go to the holder of a pin.
type pinned struct {
	jetstream.Consumer
	pin       string
	pending   int
	delivered uint64 // the last, by its count
	err       error  // of a question
}

func (p *pinned) Info(context.Context) (*jetstream.ConsumerInfo, error) {
	groups := []jetstream.PriorityGroupState{{Group: ownerGroup, PinnedClientID: p.pin}}
	delivered := jetstream.SequenceInfo{Consumer: p.delivered}
	return &jetstream.ConsumerInfo{PriorityGroups: groups, NumAckPending: p.pending, NumPending: 1, Delivered: delivered}, p.err
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

func (r *recording) inOrder() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts)
}

func (r *recording) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.texts))
}
