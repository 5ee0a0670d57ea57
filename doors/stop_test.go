package doors_test

import (
	"slices"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"
)

// An order to stop has its answer, as the message has whose run it ends: one reply is for
// both. So it is when it is sent again, after a restart too.
func TestOrderToStopIsAnswered(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	h := doorstest.Serve(t, cfg)
	d := desk(t, h)
	story := send(t, d, doors.Request{ID: "1", Conversation: "c", Text: "endless"})
	underWay(t, h)
	order := doors.Request{ID: "2", Conversation: "c", Text: "/stop"}
	stop := send(t, d, order)
	got, ended := final(t, stop), final(t, story)
	if got.ID != ended.ID || got.Error == nil || got.Error.Code != "cancelled" || got.InReplyTo != "1" || !slices.Equal(got.Merged, []string{"1", "2"}) {
		t.Errorf("got %+v, and the run %+v", got, ended)
	}
	h.Stop()
	h = doorstest.Serve(t, cfg)
	if again := final(t, send(t, desk(t, h), order)); again.ID != got.ID {
		t.Errorf("after a restart: got %+v, want %+v", again, got)
	}
}

// underWay waits for a run.
func underWay(t *testing.T, h *doorstest.Host) {
	t.Helper()
	waittest.Until(t, "a run", func() bool {
		list, err := h.Client.Runs(bustest.Context(t))
		return err == nil && len(list.Runs) == 1
	})
}
