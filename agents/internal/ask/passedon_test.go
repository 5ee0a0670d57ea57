package ask_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestPassedOn(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	publish := func(id string) {
		t.Helper()
		msg := nats.NewMsg(bus.RoutePrefix + "ana")
		msg.Header.Set(nats.MsgIdHdr, id)
		if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	p := ask.NewPassedOn(records.NewReader(b.JS))
	find := func(hash, want string, since time.Time) {
		t.Helper()
		got, err := p.Find(t.Context(), hash, since)
		if got != want || err != nil {
			t.Errorf("%s since %s: got %q, %v, want %q", hash, since.Format(time.TimeOnly), got, err, want)
		}
	}
	now := time.Now()
	find(":a", "", now)
	publish("first:a")
	publish("second:a")
	publish("x:y:b")
	publish("none")
	find(":a", "first", now)
	find(":b", "x:y", now)
	find(":c", "", now)
	publish("third:c")
	find(":c", "third", now)
	find(":a", "first", now.Add(-time.Hour)) // which reads all once more
	find(":c", "third", now)
}

// After a takeover thousands of inputs come again: the stream is not read for each.
func TestPassedOnIsReadOnce(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	since := time.Now()
	const routes, inputs = 2000, 500
	for i := range routes {
		msg := nats.NewMsg(bus.RoutePrefix + "ana")
		msg.Header.Set(nats.MsgIdHdr, fmt.Sprintf("w%d:%d", i, i))
		if _, err := b.JS.PublishMsgAsync(msg, jetstream.WithStallWait(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	<-b.JS.PublishAsyncComplete()
	var requests atomic.Int64
	sub, err := b.NC.Subscribe("$JS.API.DIRECT.GET."+bus.RoutesStream, func(*nats.Msg) { requests.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	p := ask.NewPassedOn(records.NewReader(b.JS))
	var all sync.WaitGroup
	for i := range inputs {
		all.Go(func() {
			if got, err := p.Find(t.Context(), fmt.Sprintf(":%d", i), since); got != fmt.Sprintf("w%d", i) || err != nil {
				t.Errorf("input %d: got %q, %v", i, got, err)
			}
		})
	}
	all.Wait()
	// once through the stream, and at most once to its end for each input
	if most := int64(inputs + routes/100); requests.Load() == 0 || requests.Load() > most {
		t.Errorf("%d requests for %d inputs, want at most %d", requests.Load(), inputs, most)
	}
}

// A search that was interrupted is of no harm to the next.
func TestPassedOnInterrupted(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	p := ask.NewPassedOn(records.NewReader(b.JS)) // there are no streams yet
	now := time.Now()
	if got, err := p.Find(t.Context(), ":a", now); err == nil {
		t.Errorf("got %q without a stream", got)
	}
	bustest.Provision(t, b.JS)
	if got, err := p.Find(t.Context(), ":a", now); got != "" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
