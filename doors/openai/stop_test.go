package openai_test

import (
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"
)

// A request that orders a session to stop ends when its run has.
func TestOrderToStopEnds(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for name, tt := range map[string]struct {
		path string
		body object
	}{
		"chat":     {chatPath, chatOf("/stop")},
		"streamed": {chatPath, object{"model": "ana", "stream": true, "messages": []object{says("user", "/stop")}}},
		"response": {"/v1/responses", object{"model": "ana", "input": "/stop"}},
	} {
		session := header{"Agent-Session": name}
		done := make(chan answer, 1)
		go func() { done <- ask(t, h, "POST", chatPath, chatOf("endless"), session) }()
		waittest.Until(t, "a run", func() bool {
			list, err := h.Client.Runs(bustest.Context(t))
			return err == nil && len(list.Runs) == 1
		})
		got, ended := ask(t, h, "POST", tt.path, tt.body, session), <-done
		if !strings.Contains(got.Body, "Stopped.") || !strings.Contains(ended.Body, "Stopped.") {
			t.Errorf("%s: got %+v, and the run %+v", name, got, ended)
		}
		if ended.Status != 409 || name != "streamed" && got.Status != 409 {
			t.Errorf("%s: got status %d, and the run %d, want 409", name, got.Status, ended.Status)
		}
	}
}
