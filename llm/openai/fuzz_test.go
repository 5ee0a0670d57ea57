package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"agenthost/llm"
)

// FuzzStream feeds a provider whatever a server may send: it must end with a
// finish or an *llm.Error, and with a message that can be stored.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		events(say("a"), finish("stop"), "[DONE]"),
		events(call(`"index":0,"id":"x"`, "f", `"{\"a\""`), call("", "", `":1}"`), finish("tool_calls")),
		events(`{"error":{"message":"no","code":429}}`),
		"event: error\ndata: {}\n\n",
		`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		events(delta(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}`), delta(`{"images":[{"image_url":{"url":"data:image/png;base64,AA=="}}]}`), finish("stop")),
		events(delta(`{"refusal":"no"}`), finish("stop")), events(`{"object":"error","message":"no"}`),
		"data: null\ndata: [DONE]\n\n", "<html>", `data: {"choices":[null]}`, `data: {"error":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		p := provider(t, llm.Config{APIKey: key}, body(func() io.Reader { return bytes.NewReader(sent) }))
		a := read(t, p, toolRequest)
		var e *llm.Error
		if a.Err != nil && (!errors.As(a.Err, &e) || e.Code == "") {
			t.Errorf("got %v, want an *llm.Error", a.Err)
		}
		if _, err := json.Marshal(a.Message); err != nil {
			t.Error(err)
		}
	})
}
