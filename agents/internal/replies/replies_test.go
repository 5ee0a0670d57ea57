package replies_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/replies"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

const (
	key    = "web/dm/ann"
	plugin = "plugin.outbound.web"
)

// A desk is a session that sends, on a server.
type desk struct {
	*replies.Sender
	bus   *bus.Bus
	store *session.Store
	rests chan struct{} // has a token whenever nothing is on its way any more
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	store := &session.Store{Publisher: publisher, Reader: records.NewReader(b.JS), Files: filestore.New(b.JS), Limit: 1 << 19, Log: zerolog.Nop()}
	p := parts.New(parts.Options{NC: b.NC, JS: b.JS, Publisher: publisher, Reader: store.Reader, Store: store, MaxPayload: 1 << 20})
	a := &inflight.Agent{ID: "ana", Parts: p, Work: t.Context()}
	a.Profile.Store(profile.New(agents.Config{ID: "ana"}, profile.Kit{Chain: new(llm.Chain), Box: new(profile.Toolbox)}, new(profile.Peers)))
	d := &desk{bus: b, store: store, rests: make(chan struct{}, 10)}
	d.Sender = &replies.Sender{Session: inflight.Session{Agent: a, Key: key}, Sent: func() { d.rests <- struct{}{} }}
	return d
}

// rest waits until nothing is on its way.
func (d *desk) rest(t *testing.T) {
	t.Helper()
	select {
	case <-d.rests:
	case <-time.After(20 * time.Second):
		t.Fatal("something is still on its way")
	}
	if d.Sending() {
		t.Error("it still sends")
	}
}

// published are the ids of what the plugin gets, in that order.
func (d *desk) published(t *testing.T) (ids []string) {
	t.Helper()
	for rec, err := range d.store.Reader.Tail(t.Context(), bus.OutboundStream, plugin, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Header.Get(bus.SessionKeyHeader); got != key {
			t.Errorf("a reply is of session %q, want %q", got, key)
		}
		ids = append(ids, rec.Header.Get(nats.MsgIdHdr))
	}
	return ids
}

func replyOf(id, subject string) *run.Reply {
	return &run.Reply{ID: id, Subject: subject, Envelope: []byte("{}")}
}

// Replies are published in their order, and what goes nowhere, or may not go where it says,
// holds none of them up. The end of a batch comes when all of it is stored.
func TestSend(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	called, err := d.bus.NC.SubscribeSync("job.results")
	if err != nil {
		t.Fatal(err)
	}
	var ended []string
	end := func(name string) func(bool) {
		return func(stored bool) { ended = append(ended, fmt.Sprint(name, " ", stored)) }
	}
	d.Send(&outbox.Batch{
		Replies: []*run.Reply{replyOf("a.1", plugin), replyOf("a.2", ""), replyOf("a.3", "$JS.API.INFO"), replyOf("a.4", bus.InboundPrefix+"web"), replyOf("a.5", plugin)},
		End:     end("a"),
	})
	d.Send(&outbox.Batch{Replies: []*run.Reply{replyOf("b.1", "job.results"), replyOf("b.2", plugin)}, End: end("b")})
	bustest.Eventually(t, "all is sent", func() bool { return !d.Sending() })
	if diff := cmp.Diff([]string{"a.1", "a.5", "b.2"}, d.published(t)); diff != "" {
		t.Error("published (-want +got):\n" + diff)
	}
	if diff := cmp.Diff([]string{"a true", "b true"}, ended); diff != "" {
		t.Error("ended (-want +got):\n" + diff)
	}
	msg, err := called.NextMsgWithContext(bustest.Context(t))
	if err != nil || msg.Header.Get(nats.MsgIdHdr) != "" {
		t.Errorf("got %+v, %v, want a result without an id", msg, err)
	}
}

// A reply beside the others does not wait for them.
func TestPublish(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	stored := make(chan bool, 1)
	d.Publish(replyOf("a.1", plugin), tracing.Context{}, func(ok bool) { stored <- ok })
	if !<-stored {
		t.Error("it was not stored")
	}
	if diff := cmp.Diff([]string{"a.1"}, d.published(t)); diff != "" {
		t.Error("published (-want +got):\n" + diff)
	}
}

// commit commits an input that ends with a reply, and returns the sequence of the commit.
func (d *desk) commit(t *testing.T, journal *session.Log, id string) uint64 {
	t.Helper()
	events := []run.Event{
		{Type: run.InputRefused, At: time.Now().UTC(), Input: &run.Input{ID: id, Subject: bus.InboundPrefix + "web", Envelope: []byte("{}")}},
		{Type: run.OperatorSaid, At: time.Now().UTC(), Reply: replyOf(id+".1", plugin)},
	}
	stored := make(chan error, 1)
	journal.Add(context.Background(), events, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	return journal.Replied()
}

// What an owner before has committed and not published is published in the order of the log.
// What was looked through is not looked at again.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	journal, err := d.store.Open(t.Context(), "ana", key)
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for _, id := range []string{"1", "2", "3"} {
		seqs = append(seqs, d.commit(t, journal, id))
	}
	published := make(chan bool, 1)
	d.Publish(replyOf("1.1", plugin), tracing.Context{}, func(ok bool) { published <- ok })
	<-published
	if err := d.CatchUp(journal, seqs[1]); err != nil {
		t.Fatal(err)
	}
	d.rest(t)
	want := []string{"1.1", "2.1", "3.1"}
	if diff := cmp.Diff(want, d.published(t)); diff != "" {
		t.Error("published (-want +got):\n" + diff)
	}
	for i, want := range []bool{false, true, true} {
		if got := d.CaughtUp(seqs[i]); got != want {
			t.Errorf("the replies of commit %d were sent again: %t, want %t", i+1, got, want)
		}
	}
	settled := false
	if err := d.Again(journal, seqs[1], &message.Item{Input: run.Input{ID: "2"}}, &outbox.Batch{End: func(stored bool) { settled = stored }}); err != nil || !settled {
		t.Errorf("what came again is settled: %t, %v", settled, err)
	}
	if err := d.Since(journal, seqs[2]); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, d.published(t)); diff != "" {
		t.Error("published in the end (-want +got):\n" + diff)
	}
}

// What has come again is answered with what its stream does not have, and then settled.
func TestAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	journal, err := d.store.Open(t.Context(), "ana", key)
	if err != nil {
		t.Fatal(err)
	}
	seq := d.commit(t, journal, "1")
	for range 2 { // the second time the stream has it
		settled := make(chan bool, 1)
		if err := d.Again(journal, seq, &message.Item{Input: run.Input{ID: "1"}}, &outbox.Batch{End: func(stored bool) { settled <- stored }}); err != nil {
			t.Fatal(err)
		}
		if !<-settled {
			t.Error("it is not settled")
		}
		if diff := cmp.Diff([]string{"1.1"}, d.published(t)); diff != "" {
			t.Error("published (-want +got):\n" + diff)
		}
	}
	if err := d.Since(journal, seq); err != nil {
		t.Fatal(err)
	}
	if !d.CaughtUp(seq) {
		t.Error("what was replied since was not looked at")
	}
}

// The same input is told the same under the same id. Under another name it is another reply.
func TestAside(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	it := &message.Item{
		Input:  run.Input{ID: "m9", Subject: "plugin.inbound.web", Seq: 9},
		Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "ann", Text: "hi"}},
	}
	notice := run.Reply{Kind: run.KindNotice, Text: "wait"}
	d.Say(it, notice)
	d.rest(t)
	d.Say(it, notice)
	d.rest(t)
	want := []string{replies.Aside(d.Session, it, notice).Replies[0].ID}
	if diff := cmp.Diff(want, d.published(t)); diff != "" {
		t.Error("published (-want +got):\n" + diff)
	}
	other := replies.AsideAs(d.Session, "m9 12", it, notice).Replies[0]
	if other.ID == want[0] || other.Subject != plugin {
		t.Errorf("under another name it is %s on %s", other.ID, other.Subject)
	}
}
