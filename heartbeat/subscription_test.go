package heartbeat_test

import (
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/heartbeat"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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
