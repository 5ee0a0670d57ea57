//go:build long

package heartbeat_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/heartbeat"
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
