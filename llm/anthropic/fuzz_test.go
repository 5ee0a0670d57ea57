package anthropic_test

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
// finish or an *llm.Error, and with a message that can be stored and sent back.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, file := range files {
		seed, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	for _, seed := range []string{
		"event: error\ndata: {}\n\n", "data: null\n\n", "<html>", `data: {"type":"error","error":[]}`,
		`{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		p := provider(t, llm.Config{APIKey: key}, body(func() io.Reader { return bytes.NewReader(sent) }))
		a := read(t, p, llmtest.ToolRequest())
		var e *llm.Error
		if a.Err != nil && (!errors.As(a.Err, &e) || e.Code == "") {
			t.Errorf("got %v, want an *llm.Error", a.Err)
		}
		if _, err := json.Marshal(a.Message); err != nil {
			t.Error(err)
		}
		again := llmtest.Request()
		again.Messages = append(again.Messages, a.Message, llm.UserText("go on"))
		if e := llm.AsError(read(t, p, again).Err); e != nil && e.Code == llm.CodeValidation && e.Status == 0 {
			t.Errorf("what it said cannot be sent back: %v", e)
		}
	})
}
