//go:build long

package doors_test

import (
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors"
	"agenthost/doors/doorstest"
)

func TestStop(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	e := send(t, desk(t, h), doors.Request{Text: "endless"})
	for ev, err := range e.Events(bustest.Context(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if ev == (doors.Event{}) { // nothing came for a while: the model is at work
			if err := e.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if ev.Out != nil && ev.Out.Final && (ev.Out.Error == nil || ev.Out.Error.Code != "cancelled") {
			t.Errorf("got %+v", ev.Out)
		}
	}
}
