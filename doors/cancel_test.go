package doors_test

import (
	"errors"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/doors"
	"agenthost/doors/doorstest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Who cancels a message that waits for its turn does not stop the run of the one before.
func TestCancelLeavesTheRunOfAnotherMessage(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	d := desk(t, h)
	story := send(t, d, doors.Request{Conversation: "c", Text: "endless"})
	underWay(t, h)
	waiting := send(t, d, doors.Request{Conversation: "c", Text: "broken"})
	if withdrawn, err := waiting.Cancel(bustest.Context(t)); !withdrawn || err != nil {
		t.Fatalf("the message that waits: withdrawn %v, %v", withdrawn, err)
	}
	if withdrawn, err := story.Cancel(bustest.Context(t)); withdrawn || err != nil {
		t.Fatalf("the message in work: withdrawn %v, %v", withdrawn, err)
	}
	if out := final(t, story); out.InReplyTo != story.ID || out.Error == nil || out.Error.Code != "cancelled" {
		t.Errorf("got %+v", out)
	}
	if out := final(t, send(t, d, doors.Request{Conversation: "c", Text: "hi"})); out.Text != "ana: hi" {
		t.Errorf("after it: got %+v", out)
	}
	if _, ended := d.EndOf(waiting.Place(), waiting.ID); ended {
		t.Error("the message that was withdrawn is answered")
	}
}

// A message that has its reply is not cancelled any more, and nothing else is stopped for it.
func TestCancelOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	d := desk(t, h)
	first := send(t, d, doors.Request{Conversation: "c", Text: "hi"})
	final(t, first)
	send(t, d, doors.Request{Conversation: "c", Text: "endless"})
	underWay(t, h)
	if withdrawn, err := first.Cancel(bustest.Context(t)); withdrawn || err != nil {
		t.Fatalf("withdrawn %v, %v", withdrawn, err)
	}
	underWay(t, h)
}

// While no host serves a session, an order to stop would end whichever of its messages comes first.
// The withdrawals count for the next host.
func TestCancelWithoutAHost(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	cfg := doorstest.Config(t, "")
	cfg.NATS = bus.Config{URL: url}
	h := doorstest.Serve(t, cfg)
	d := desk(t, &doorstest.Host{Client: elsewhere(t, url)})
	story := send(t, d, doors.Request{Conversation: "c", Text: "endless"})
	underWay(t, h)
	h.Stop()
	if withdrawn, err := story.Cancel(bustest.Context(t)); withdrawn || err != nil {
		t.Errorf("alone in its session: withdrawn %v, %v", withdrawn, err)
	}
	waiting := send(t, d, doors.Request{Conversation: "c", Text: "hi"})
	if withdrawn, err := waiting.Cancel(bustest.Context(t)); withdrawn || !errors.Is(err, doors.ErrNotCancelled) {
		t.Errorf("behind another: withdrawn %v, %v", withdrawn, err)
	}
	doorstest.Serve(t, cfg)
	if out := final(t, send(t, d, doors.Request{Conversation: "c", Text: "hello"})); out.Text != "ana: hello" {
		t.Errorf("the next host: got %+v", out)
	}
	for _, e := range []*doors.Exchange{story, waiting} {
		if out, ended := d.EndOf(e.Place(), e.ID); ended {
			t.Errorf("what was withdrawn is answered: %+v", out)
		}
	}
}

// elsewhere is a client that outlives the host.
func elsewhere(t *testing.T, url string) *client.Client {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return client.New(nc, js, client.Options{})
}
