package conversation

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
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

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// busyConversation is one with a run under way, and so much waiting behind it.
func busyConversation(t testing.TB, waiting int) (*Conversation, *session.Log) {
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
	parts := parts.New(parts.Options{JS: b.JS, Publisher: publisher, Reader: reader, Store: store, Peers: &profile.Peers{}, MaxPayload: 1 << 20})
	policy, err := tools.NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	box := &profile.Toolbox{Registry: tools.NewRegistry(), Policy: policy, Validator: &tools.Validator{}}
	work, end := context.WithCancel(t.Context())
	end() // so that nothing waits to hear what is asked elsewhere
	agent := &inflight.Agent{ID: "ana", Parts: parts, Work: work}
	agent.Profile.Store(profile.New(agents.Config{ID: "ana"}, profile.Kit{Chain: &llm.Chain{}, Box: box}, parts.Peers))
	c := New(&Shared{Agent: agent}, "web/dm/ana")
	journal, err := store.Open(t.Context(), "ana", c.Key)
	if err != nil {
		t.Fatal(err)
	}
	said := llm.UserText("hi")
	journal.Step(run.Signal{
		Kind: run.Submit, At: time.Now(), Run: "r1", Trigger: run.ByMessage, Message: &said,
		Inputs: []run.Input{{ID: "m0", Subject: "plugin.inbound.web", Seq: 1}},
	}, agent.Now().Limits())
	c.journal = journal
	(*view)(c).Enter(c.runs.New(journal, "r1", []*message.Item{chatMessage(-1, "hi")}))
	for i := range waiting {
		put(c, chatMessage(i, "later"))
	}
	return c, journal
}

func chatMessage(i int, text string) *message.Item {
	in := bus.Inbound{From: "ana", Text: text}
	it := &message.Item{Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &in}}
	it.Input = run.Input{ID: fmt.Sprint("m", i+1), Subject: it.Origin.Subject, Seq: uint64(i + 2)}
	return it
}

func put(c *Conversation, it *message.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enqueue(len(c.Queue), it)
}

// next is the next input that is meant for the run; empty where none is.
func next(c *Conversation, journal *session.Log) string {
	found, ok := c.interjection(journal)
	switch {
	case !ok:
		return ""
	case found.it == nil:
		return string(found.sig.Kind)
	}
	return found.it.Input.ID
}

// A message that was looked at once is looked at again when the settings or the questions
// of the run have changed, and else not.
func TestInterjectionLooksAtWhatHasComeSince(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 3)
	if got := next(c, journal); got != "" {
		t.Fatalf("%s is for the run, want none", got)
	}
	put(c, chatMessage(3, "/stop"))
	put(c, chatMessage(4, "later"))
	put(c, chatMessage(5, "/stop"))
	for _, want := range []string{"m4", "m6", ""} {
		if got := next(c, journal); got != want {
			t.Fatalf("%q is for the run, want %q", got, want)
		}
	}
	cfg := agents.Config{ID: "ana", Session: session.Config{Queue: session.Steer}}
	c.Agent.Profile.Store(profile.New(cfg, profile.Kit{Chain: &llm.Chain{}, Box: c.Agent.Now().Tools}, c.Agent.Parts.Peers))
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
	edited, edit := chatMessage(1, "a"), chatMessage(2, "b")
	edited.Origin.Inbound.Priority, edit.Origin.Inbound.Edits = "now", edited.Input.ID
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

// A message does not pass one that came before it and is in the log, or on its way there:
// neither into the run, nor to the head of the queue.
func TestInterjectionPassesNothing(t *testing.T) {
	t.Parallel()
	first := func(change func(*message.Item)) *message.Item {
		it := chatMessage(0, "a")
		change(it)
		return it
	}
	nothing := func(*message.Item) {}
	for name, test := range map[string]struct {
		mode  session.Queue
		first *message.Item
		place message.Place
		want  []string // what is for the run
		queue []string // what is left
	}{
		"steer":                {session.Steer, first(nothing), message.Held, []string{"m1", "m2"}, nil},
		"steer, spilling":      {session.Steer, first(nothing), message.Spilling, nil, []string{"m1", "m2"}},
		"steer, logged":        {session.Steer, first(nothing), message.Logged, nil, []string{"m1", "m2"}},
		"steer, an order":      {session.Steer, first(func(it *message.Item) { it.Origin.Inbound.Text = "/new" }), message.Held, nil, []string{"m1", "m2"}},
		"steer, of a backlog":  {session.Steer, first(func(it *message.Item) { it.Stale = time.Now() }), message.Held, nil, []string{"m1", "m2"}},
		"steer, for later":     {session.Steer, first(func(it *message.Item) { it.Origin.Inbound.Priority = "later" }), message.Held, []string{"m2"}, []string{"m1"}},
		"steer, a copy":        {session.Steer, first(func(it *message.Item) { it.Input.ID = "m0" }), message.Held, []string{"m2"}, []string{"m0"}},
		"interrupt":            {session.Interrupt, first(nothing), message.Held, []string{"abort", "abort"}, []string{"m1", "m2"}},
		"interrupt, spilling":  {session.Interrupt, first(nothing), message.Spilling, []string{"abort"}, []string{"m1", "m2"}},
		"interrupt, logged":    {session.Interrupt, first(nothing), message.Logged, []string{"abort"}, []string{"m1", "m2"}},
		"interrupt, for later": {session.Interrupt, first(func(it *message.Item) { it.Origin.Inbound.Priority = "later" }), message.Logged, []string{"abort"}, []string{"m2", "m1"}},
		"interrupt, an order":  {session.Interrupt, first(func(it *message.Item) { it.Origin.Inbound.Text = "/new" }), message.Held, []string{"abort"}, []string{"m1", "m2"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, journal := busyConversation(t, 0)
			c.current.AddInput(run.Input{ID: "m0"})
			cfg := agents.Config{ID: "ana", Session: session.Config{Queue: test.mode}}
			c.Agent.Profile.Store(profile.New(cfg, profile.Kit{Chain: &llm.Chain{}, Box: c.Agent.Now().Tools}, c.Agent.Parts.Peers))
			put(c, test.first)
			put(c, chatMessage(1, "b"))
			c.Move(test.first, test.place)
			var got []string
			for id := next(c, journal); id != ""; id = next(c, journal) {
				got = append(got, id)
			}
			var left []string
			for _, it := range c.Queue {
				left = append(left, it.Input.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("for the run (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.queue, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// What is to be handled now passes all but what came before it to be handled now.
func TestInterruptionPassesWhatIsLessUrgent(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 2)
	for i := range 2 {
		it := chatMessage(2+i, "now")
		it.Origin.Inbound.Priority = "now"
		put(c, it)
	}
	for range 2 {
		if got := next(c, journal); got != string(run.Abort) {
			t.Fatalf("got %q, want an interrupt", got)
		}
	}
	var got []string
	for _, it := range c.Queue {
		got = append(got, it.Input.ID)
	}
	if diff := cmp.Diff([]string{"m3", "m4", "m1", "m2"}, got); diff != "" {
		t.Errorf("the queue (-want +got):\n%s", diff)
	}
}

// A message that is on its way to the log can still be edited.
func TestMessageOnItsWayToTheLogWaits(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 1)
	it := c.Queue[0]
	c.Move(it, message.Spilling)
	stored := make(chan error, 1)
	journal.Add(t.Context(), []run.Event{{Type: run.InputAdded, At: time.Now(), Input: &it.Input}}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	edit := chatMessage(1, "b")
	edit.Origin.Inbound.Edits = it.Input.ID
	if !c.hasTarget(edit) { // the log has it, and the queue does not know yet
		t.Error("its edit comes too late, want in time")
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
				it := chatMessage(n, "one more")
				put(c, it)
				if _, ok := c.interjection(journal); ok {
					b.Fatal("taken for an interjection")
				}
				c.unqueue(it)
			}
		})
	}
}
