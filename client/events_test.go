package client

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const waitID = "ana.aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbb"

// waitsFor is a NATS where one call waits, with no host.
func waitsFor(t *testing.T, w Waiting) *Client {
	t.Helper()
	url, _ := bustest.Server(t)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), js, 1, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), bus.WaitingBucket)
	if err != nil {
		t.Fatal(err)
	}
	w.ID, w.Agent = waitID, "ana"
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), w.ID, data); err != nil {
		t.Fatal(err)
	}
	return New(nc, js, Options{Door: bus.DoorCLI})
}

// What comes in is passed on in order; what belongs to another message is not the
// reply.
func TestEventsBeforeAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Conversation{inbox: "inbox", received: make(chan *nats.Msg), follower: new(Follower)}
		go func() {
			time.Sleep(quietAfter + time.Second)
			for _, m := range []nats.Msg{
				{Subject: "stream", Data: []byte(`{"run":"p","offset":0,"text":"to others","in_reply_to":"p"}`)},
				{Subject: "stream", Data: []byte(`{"run":"r","offset":0,"text":"he","in_reply_to":"q"}`)},
				{Subject: "stream", Data: []byte(`garbage`)},
				{Subject: "inbox", Data: []byte(`garbage`)},
				{Subject: "inbox", Data: []byte(`{`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"c","in_reply_to":"other","text":"no"}`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"c","in_reply_to":"q","text":"hello"}`)},
			} {
				c.received <- &m
			}
		}()
		var got []string
		r, err := c.Wait(t.Context(), Message{ID: "q"}, func(e Event) {
			switch {
			case e.Chunk != nil:
				got = append(got, e.Chunk.Text)
			case e.Quiet:
				got = append(got, "…")
			}
		})
		if err != nil || r.Text != "hello" {
			t.Errorf("got %q, %v", r.Text, err)
		}
		if diff := cmp.Diff([]string{"…", "he"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := errors.New("late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, late)
		defer cancel()
		c := &Conversation{received: make(chan *nats.Msg)}
		if _, err := c.Wait(ctx, Message{}, nil); !errors.Is(err, late) {
			t.Errorf("got %v, want %v", err, late)
		}
	})
}

// An approval or a question is passed on once; the report of a host about an order
// is not the reply.
func TestAsksArePassedOnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Conversation{inbox: "inbox", asks: "asks", received: make(chan *nats.Msg)}
		go func() {
			for _, m := range []nats.Msg{
				{Subject: "asks", Data: []byte(`garbage`)},
				{Subject: "asks", Data: []byte(`{"kind":"approval","text":"no call"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"notice","call":"n","text":"no ask"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"approval","call":"a","agent":"ana","text":"pay"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"approval","call":"a","agent":"ana","text":"pay"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"question","call":"b","agent":"kate","text":"which","options":["x"]}`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"a","in_reply_to":"o","error":{"message":"late"}}`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"c","in_reply_to":"q","text":"hello"}`)},
			} {
				c.received <- &m
			}
		}()
		var asked []Waiting
		var noticed []string
		r, err := c.Wait(t.Context(), Message{ID: "q"}, func(e Event) {
			switch {
			case e.Asked != nil:
				asked = append(asked, *e.Asked)
			case e.Notice != nil:
				noticed = append(noticed, e.Notice.InReplyTo, e.Notice.Error.Message)
			}
		})
		if err != nil || r.Text != "hello" {
			t.Errorf("got %q, %v", r.Text, err)
		}
		want := []Waiting{
			{ID: "a", Agent: "ana", Kind: ForApproval, Prompt: "pay"},
			{ID: "b", Agent: "kate", Kind: ForQuestion, Prompt: "which", Options: []string{"x"}},
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"o", "late"}, noticed); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What was asked while NATS was away is passed on when it is back.
func TestAskedWhileAway(t *testing.T) {
	t.Parallel()
	cl := waitsFor(t, Waiting{Kind: ForApproval, Prompt: "pay", Origin: &bus.Origin{Subject: "asks"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := cl.Conversation("ana", Party{From: "me", Session: "s"})
	c.asks, c.again = "asks", make(chan nats.Status, 2)
	c.again <- nats.CONNECTED
	c.again <- nats.CONNECTED
	var asked []string
	_, err := c.Wait(ctx, Message{ID: "q", Text: "hi"}, func(e Event) {
		if e.Asked != nil {
			asked = append(asked, e.Asked.ID)
			cancel()
		}
	})
	if err == nil || !cmp.Equal(asked, []string{waitID}) {
		t.Errorf("asked %v, %v", asked, err)
	}
	for _, other := range []string{"elsewhere", ""} {
		c.asks, c.asked = other, nil
		if err := c.emitMissed(t.Context(), func(e Event) { t.Errorf("emitted %v", e) }); err != nil {
			t.Error(err)
		}
	}
	cl.nc.Close()
	if again := c.resend(t.Context(), Message{}, func(Event) {}); again == nil {
		t.Error("a connection that is away is not tried again")
	}
}

// A message names where approvals and questions go: to a subject that hosts take.
func TestMessagesNameWhereToAsk(t *testing.T) {
	t.Parallel()
	cl := waitsFor(t, Waiting{})
	c := cl.Conversation("ana", Party{From: "me", Session: "s"})
	if err := c.Listen(false); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Send(ctx, NewMessage("hi")); err != nil {
		t.Fatal(err)
	}
	stream, err := cl.js.Stream(ctx, bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bus.DecodeRoute(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&bus.Origin{Session: "s", Subject: c.asks, To: "me"}, r.Origin); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The key of a run may be shortened where it is stopped, but never means another
// session than one that has this very key.
func TestAbortTakesAShortenedKey(t *testing.T) {
	t.Parallel()
	cl := waitsFor(t, Waiting{Kind: ForApproval, Prompt: "pay", Session: "web/dm/77", Run: "r"})
	for short, want := range map[string]string{"web/dm/7": "web/dm/77", "web/dm/77": "web/dm/77", "web/": "web/dm/77", "other/dm/1": "other/dm/1"} {
		done, err := cl.Abort(t.Context(), Stop{Agent: "ana", Session: short}, time.Minute)
		if err != nil || done.Session != want || done.Stored != bus.RoutesStream {
			t.Errorf("%s: got %+v, %v; want %s", short, done, err, want)
		}
	}
}
