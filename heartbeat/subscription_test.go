package heartbeat_test

import (
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/heartbeat"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Events that no stream keeps are told at most once: where what is told cannot be stored they do
// not pile up in memory without end.
func TestUnstoredEventsDoNotPileUp(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		const most, published = 10_000, 12_000
		w := newWorld(t)
		watcher := &heartbeat.Watcher{
			NC: w.NC, JS: w.JS, Publisher: w.publisher, Log: w.Log, Up: make(chan struct{}),
			Events: map[string][]heartbeat.Event{"ana": {{Subject: "sensor.heat", Prompt: "${payload}"}}},
		}
		w.run(watcher.Run)
		<-watcher.Up
		config := w.stream(bus.RoutesStream).CachedInfo().Config
		if err := w.JS.DeleteStream(t.Context(), bus.RoutesStream); err != nil {
			t.Fatal(err)
		}
		for range published {
			if err := w.NC.Publish("sensor.heat", []byte("21")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		if _, err := w.JS.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if n := len(w.routes("ana")); n > most || n < most/2 {
			t.Errorf("%d of %d events were kept while none could be stored", n, published)
		}
		if err := w.NC.Publish("sensor.heat", []byte("22")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		routes := w.routes("ana")
		if last := routes[len(routes)-1]; last.Text != "22" {
			t.Errorf("the last event says %q", last.Text)
		}
	})
}

// An event that cannot be told, as NATS takes no message with headers of that size, is left out. It does not come
// again without end, and keeps back none behind it.
func TestEventsTooLargeToTell(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		if _, err := w.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SENSORS", Subjects: []string{"sensor.>"}}); err != nil {
			t.Fatal(err)
		}
		watcher := &heartbeat.Watcher{
			NC: w.NC, JS: w.JS, Publisher: w.publisher, Log: w.Log, Up: make(chan struct{}),
			Events: map[string][]heartbeat.Event{"ana": {{Subject: "sensor.heat", Prompt: "${payload}"}}},
		}
		w.run(watcher.Run)
		<-watcher.Up
		large := nats.NewMsg("sensor.heat")
		large.Header.Set("tracestate", strings.Repeat("x", 64<<10-100)) // with what a route has besides, a stream does not take it
		large.Data = []byte("21")
		const pending = 256 // events of a consumer that are under way
		for range pending {
			if _, err := w.JS.PublishMsg(t.Context(), large); err != nil {
				t.Fatal(err)
			}
		}
		w.stored("sensor.heat", "22")
		time.Sleep(time.Minute)
		if routes := w.routes("ana"); len(routes) != 1 || routes[0].Text != "22" {
			t.Errorf("ana is told %d events, want 1", len(routes))
		}
		for info := range w.stream("SENSORS").ListConsumers(t.Context()).Info() {
			if info.NumAckPending > 0 || info.NumRedelivered > 0 {
				t.Errorf("%d events are not done, %d came again", info.NumAckPending, info.NumRedelivered)
			}
		}
	})
}
