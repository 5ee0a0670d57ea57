package agents

import (
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

// busyConversation is one with a run under way, and so much waiting behind it.
func busyConversation(t testing.TB, waiting int) (*conversation, *session.Log) {
	t.Helper()
	b := bustest.Open(t)
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), b.JS, 1, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	reader, files := records.NewReader(b.JS), filestore.New(b.JS)
	store := &session.Store{Publisher: publisher, Reader: reader, Files: files, Limit: 1 << 19, Log: zerolog.Nop()}
	parts := &Parts{Publisher: publisher, Reader: reader, Store: store, Peers: &Peers{}, MaxPayload: 1 << 20}
	policy, err := tools.NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	box := &Toolbox{Registry: tools.NewRegistry(), Policy: policy, Validator: &tools.Validator{}}
	r := New(Config{ID: "ana"}, Kit{Chain: &llm.Chain{}, Box: box}, parts)
	c := newConversation(r, "web/dm/ana")
	journal, err := store.Open(t.Context(), "ana", c.key)
	if err != nil {
		t.Fatal(err)
	}
	said := llm.UserText("hi")
	journal.Step(run.Signal{
		Kind: run.Submit, At: time.Now(), Run: "r1", Trigger: run.ByMessage, Message: &said,
		Inputs: []run.Input{{ID: "m0", Subject: "plugin.inbound.web", Seq: 1}},
	}, r.now().limits())
	c.journal = journal
	c.setCurrent(c.newRunner(journal, "r1", nil))
	for i := range waiting {
		put(c, message(i, "later"))
	}
	return c, journal
}

func message(i int, text string) *item {
	in := bus.Inbound{From: "ana", Text: text}
	it := &item{origin: origin{subject: "plugin.inbound.web", inbound: &in}}
	it.input = run.Input{ID: fmt.Sprint("m", i+1), Subject: it.origin.subject, Seq: uint64(i + 2)}
	return it
}

func put(c *conversation, it *item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enqueue(len(c.queue), it)
}

// next is the next input that is meant for the run; empty where none is.
func next(c *conversation, journal *session.Log) string {
	it, sig, ok := c.interjection(journal)
	switch {
	case !ok:
		return ""
	case it == nil:
		return string(sig.Kind)
	}
	return it.input.ID
}

// A message that was looked at once is looked at again when the settings or the questions
// of the run have changed, and else not.
func TestInterjectionLooksAtWhatHasComeSince(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 3)
	if got := next(c, journal); got != "" {
		t.Fatalf("%s is for the run, want none", got)
	}
	put(c, message(3, "/stop"))
	put(c, message(4, "later"))
	put(c, message(5, "/stop"))
	for _, want := range []string{"m4", "m6", ""} {
		if got := next(c, journal); got != want {
			t.Fatalf("%q is for the run, want %q", got, want)
		}
	}
	cfg := Config{ID: "ana", Session: session.Config{Queue: session.Steer}}
	c.r.profile.Store(newProfile(cfg, Kit{Chain: &llm.Chain{}, Box: c.r.now().tools}, c.r.parts))
	for _, want := range []string{"m1", "m2", "m3", "m5", ""} {
		if got := next(c, journal); got != want {
			t.Fatalf("%q joins the run, want %q", got, want)
		}
	}
}

// A message that waits for its edit to be over is for the run once the edit is gone.
func TestInterjectionLooksAgainWhenAnEditIsGone(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 0)
	edited, edit := message(1, "a"), message(2, "b")
	edited.origin.inbound.Priority, edit.origin.inbound.Edits = "now", edited.input.ID
	put(c, edited)
	put(c, edit)
	if got := next(c, journal); got != "" {
		t.Fatalf("%s is for the run, want none", got)
	}
	c.unqueue(edit)
	if got := next(c, journal); got != string(run.Abort) {
		t.Errorf("got %q, want an interrupt", got)
	}
}

// BenchmarkInterjection is a look at the queue during a run for what is meant for it,
// after one more message has come.
func BenchmarkInterjection(b *testing.B) {
	for _, waiting := range []int{0, 31, 400} {
		b.Run(fmt.Sprint("waiting=", waiting), func(b *testing.B) {
			c, journal := busyConversation(b, waiting)
			b.ReportAllocs()
			for n := waiting; b.Loop(); n++ {
				it := message(n, "one more")
				put(c, it)
				if _, _, ok := c.interjection(journal); ok {
					b.Fatal("taken for an interjection")
				}
				c.unqueue(it)
			}
		})
	}
}
