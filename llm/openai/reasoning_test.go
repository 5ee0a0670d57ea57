package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// TestReasoningGoesBack has the model think, speak and call a tool, and looks
// at what the next request has of it.
func TestReasoningGoesBack(t *testing.T) {
	calls := events(call(`"index":0,"id":"x"`, "f", `"{}"`), finish("tool_calls"))
	signed := delta(`{"reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"H","index":0,"format":"a"}]}`) +
		"\n\ndata: " + delta(`{"reasoning":"m","reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"signature":""}]}`) +
		"\n\ndata: " + delta(`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s1"},{"type":"reasoning.encrypted","data":"e","index":1}]}`)
	tests := map[string]struct {
		answer, second string // the hosts of both calls are the same while second is empty
		want           string
	}{
		"reasoning_content": {
			events(delta(`{"reasoning_content":"H"}`), delta(`{"reasoning_content":"m","content":""}`), say("Wait.")) + calls, "",
			`{"reasoning_content":"Hm"}`,
		},
		"reasoning": {events(delta(`{"reasoning":"Hm"}`)) + calls, "", `{"reasoning":"Hm"}`},
		"thinking twice": {
			events(delta(`{"reasoning":"H"}`), say("Wait."), delta(`{"reasoning":"m"}`)) + calls, "",
			`{"reasoning":"Hm"}`,
		},
		"details": {
			events(signed) + calls, "",
			`{"reasoning_details":[{"format":"a","index":0,"signature":"s1","text":"Hm","type":"reasoning.text"},{"data":"e","index":1,"type":"reasoning.encrypted"}]}`,
		},
		"details after the call": {
			events(call(`"index":0,"id":"x"`, "f", `"{}"`), delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"e"}]}`), finish("tool_calls")), "",
			`{"reasoning_details":[{"data":"e","type":"reasoning.encrypted"}]}`,
		},
		"tags":              {events(say("<think>Hm</think>\n\nWait.")) + calls, "", `{"content":"\u003cthink\u003eHm\u003c/think\u003e\n\nWait."}`},
		"parts of Mistral":  {events(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}`)) + calls, "", `{}`},
		"to another server": {events(delta(`{"reasoning_content":"Hm"}`)) + calls, "http://other/v1", `{}`},
		"without a call":    {events(delta(`{"reasoning_content":"Hm"}`), say("a"), finish("stop")), "", `{}`},
		"none":              {calls, "", `{}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			first := provider(t, llm.Config{BaseURL: "http://one/v1"}, body(func() io.Reader { return strings.NewReader(tt.answer) }))
			a := read(t, first, toolRequest)
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			req := toolRequest
			req.Messages = append(req.Messages[:1:1], a.Message, llm.UserText("go on"))
			if got := sentReasoning(t, tt.second, req); got != tt.want {
				t.Error(cmp.Diff(tt.want, got))
			}
		})
	}
}

// TestReasoningOfOthers has reasoning that no server of this kind wrote.
func TestReasoningOfOthers(t *testing.T) {
	req := toolRequest
	thinks := llm.Message{Role: llm.Assistant, Parts: append(thought("hm"), llm.Part{Type: llm.Reasoning, Text: "hm", Meta: []byte(`"signed"`)}, toolCall("1", "f", "{}"))}
	req.Messages = append(req.Messages[:1:1], thinks)
	if got := sentReasoning(t, "", req); got != "{}" {
		t.Errorf("got %s", got)
	}
}

// sentReasoning is what the assistant's message has of reasoning.
func sentReasoning(t *testing.T, baseURL string, req llm.Request) string {
	t.Helper()
	if baseURL == "" {
		baseURL = "http://one/v1"
	}
	var sent struct {
		Messages []struct {
			Text      string            `json:"content,omitempty"`
			Content   json.RawMessage   `json:"reasoning_content,omitempty"`
			Reasoning json.RawMessage   `json:"reasoning,omitempty"`
			Details   []json.RawMessage `json:"reasoning_details,omitempty"`
		} `json:"messages"`
	}
	p := provider(t, llm.Config{BaseURL: baseURL}, roundTripper(func(r *http.Request) (*http.Response, error) {
		err := json.NewDecoder(r.Body).Decode(&sent)
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(events(finish("stop"))))}, err
	}))
	read(t, p, req)
	if m := &sent.Messages[1]; !strings.Contains(m.Text, "<think>") {
		m.Text = ""
	}
	got, err := json.Marshal(sent.Messages[1])
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// TestSignatureGoesBack has a call with something that only its server wants back.
func TestSignatureGoesBack(t *testing.T) {
	const extra = `"extra_content":{"google":{"thought_signature":"c2ln"}}`
	answer := events(call(`"index":0,"id":"x",`+extra, "f", `"{}"`), call(`"index":0,"id":"y"`, "g", `"{}"`), finish("stop"))
	for host, want := range map[string]string{"http://one/v1": `{"google":{"thought_signature":"c2ln"}}`, "http://other/v1": ""} {
		a := read(t, provider(t, llm.Config{BaseURL: "http://one/v1"}, body(func() io.Reader { return strings.NewReader(answer) })), toolRequest)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		var sent struct {
			Messages []struct {
				Calls []struct {
					Extra json.RawMessage `json:"extra_content"`
				} `json:"tool_calls"`
			} `json:"messages"`
		}
		req := toolRequest
		req.Messages = append(req.Messages[:1:1], a.Message)
		p := provider(t, llm.Config{BaseURL: host}, roundTripper(func(r *http.Request) (*http.Response, error) {
			err := json.NewDecoder(r.Body).Decode(&sent)
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(events(finish("stop"))))}, err
		}))
		read(t, p, req)
		if calls := sent.Messages[1].Calls; len(calls) != 2 || string(calls[0].Extra) != want || calls[1].Extra != nil {
			t.Errorf("%s: got %s, want %s with the first alone", host, calls, want)
		}
	}
}
