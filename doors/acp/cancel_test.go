package acp_test

import (
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"
)

// Who cancels a prompt that waits behind that of another editor in the session stops only their own.
func TestCancelBehindAnotherEditor(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	first, second := edit(t, h), edit(t, h)
	s := first.begin()
	first.prompt(s, "hi") // without a log it can't be loaded
	id := first.send("session/prompt", prompt(s, "endless"))
	waittest.Until(t, "a run", func() bool { return h.Inbound(t) == 2 && len(liveRuns(t, h)) == 1 })
	second.call("initialize", map[string]any{"protocolVersion": 1}, nil)
	second.call("session/load", map[string]any{"sessionId": s, "cwd": "/", "mcpServers": []any{}}, nil)
	waiting := second.send("session/prompt", prompt(s, "hi"))
	waittest.Until(t, "the second prompt", func() bool { return h.Inbound(t) == 3 })
	cancel := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`
	second.write(cancel, s)
	if m := second.await(waiting); string(m.Result) != `{"stopReason":"cancelled"}` {
		t.Errorf("the prompt that waits: got %s, %+v", m.Result, m.Error)
	}
	if n := len(liveRuns(t, h)); n != 1 {
		t.Errorf("%d runs, want that of the first prompt", n)
	}
	first.write(cancel, s)
	if m := first.await(id); string(m.Result) != `{"stopReason":"cancelled"}` {
		t.Errorf("the first prompt: got %s, %+v", m.Result, m.Error)
	}
}

func liveRuns(t *testing.T, h *doorstest.Host) (ids []string) {
	t.Helper()
	list, err := h.Client.Runs(bustest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Runs {
		ids = append(ids, r.Run)
	}
	return ids
}
