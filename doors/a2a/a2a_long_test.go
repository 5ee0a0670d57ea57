//go:build long

package a2a_test

import (
	"strings"
	"testing"

	"agenthost/doors/doorstest"
)

// A task is known while its model is at work for the first time, also after a restart,
// when the log has nothing of it.
func TestTaskBeforeItsLog(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	h := doorstest.Serve(t, cfg)
	c := client{t, "http://" + h.HTTP() + "/a2a/ana", ""}
	first := c.send(said("m1", "endless", "contextId", "c"), "returnImmediately", true)
	second := c.send(said("m2", "hi", "contextId", "c"), "returnImmediately", true)
	h.Stop()
	h = doorstest.Serve(t, cfg)
	c.url = "http://" + h.HTTP() + "/a2a/ana"
	if got := c.get(first.ID); got.Status.State != submitted && got.Status.State != working || got.History[0].ID != "m1" {
		t.Errorf("got %+v", got)
	}
	if code, why := c.call("CancelTask", object{"id": second.ID}, nil); code != -32002 || !strings.Contains(why, "earlier") {
		t.Errorf("got %d %s", code, why)
	}
	var got task
	if code, why := c.call("CancelTask", object{"id": first.ID}, &got); code != 0 || got.Status.State != canceled {
		t.Errorf("got %+v, %d %s", got, code, why)
	}
	if got := c.send(said("m2", "hi", "contextId", "c")); got.text() != "ana: hi" {
		t.Errorf("got %+v", got)
	}
}
