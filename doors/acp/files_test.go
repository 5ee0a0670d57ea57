package acp_test

import (
	"testing"

	"agenthost/bus/filestore"
	"agenthost/doors/doorstest"
)

// A prompt that is refused leaves none of its files for good.
func TestFilesOfARefusedPrompt(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	e := edit(t, h)
	s := e.begin()
	image := func(data string) map[string]any {
		return map[string]any{"type": "image", "mimeType": "image/png", "data": data}
	}
	id := e.send("session/prompt", map[string]any{"sessionId": s, "prompt": []any{image("aGVsbG8="), image("?")}})
	if m := e.await(id); m.Error == nil || m.Error.Code != -32602 {
		t.Fatalf("got %s, %+v", m.Result, m.Error)
	}
	if left, err := filestore.New(h.Client.JetStream()).Left(t.Context()); len(left) != 1 || err != nil {
		t.Errorf("%v are left, %v; want the first image", left, err)
	}
}
