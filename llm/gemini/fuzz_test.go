package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// FuzzStream feeds a provider whatever a server may send: it must end with a
// finish or an *llm.Error, with a message that can be stored, and that can be
// sent back.
func FuzzStream(f *testing.F) {
	fixtures, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(fixtures) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	for _, name := range fixtures {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, seed := range []string{
		"[" + say("a") + ",\n" + finish("STOP") + "]", `{"candidates":[null]}`, "data: null\n\ndata: [DONE]\n\n", "<html>",
		events(parts(`{"thoughtSignature":"c2ln"}`), finish("STOP")), `[{"error":{"code":"x","message":"no"}}]`, `data: {"error":"no"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		p := provider(t, llm.Config{APIKey: key}, body(func() io.Reader { return bytes.NewReader(sent) }))
		req := llmtest.ToolRequest()
		a := read(t, p, req)
		var e *llm.Error
		if a.Err != nil && (!errors.As(a.Err, &e) || e.Code == "") {
			t.Errorf("got %v, want an *llm.Error", a.Err)
		}
		if _, err := json.Marshal(a.Message); err != nil {
			t.Error(err)
		}
		req.Messages = append(req.Messages, a.Message)
		if again := read(t, p, req); llm.AsError(again.Err) != nil && llm.AsError(again.Err).Code == llm.CodeValidation && e == nil {
			t.Errorf("answer cannot be sent back: %v", again.Err)
		}
	})
}
