package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// A form that no person would go through reaches no chat.
func TestLargeForms(t *testing.T) {
	t.Parallel()
	fields := func(n int, of string) json.RawMessage {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"f%d":%s`, i, of))
		}
		return json.RawMessage(`{"type":"object","properties":{` + strings.Join(list, ",") + `}}`)
	}
	text, long := `{"type":"string"}`, strings.Repeat("x", 1<<20)
	choices := func(n int) string {
		return `{"type":"string","enum":["a"` + strings.Repeat(`,"b"`, n-1) + `]}`
	}
	tests := map[string]struct {
		message string
		form    json.RawMessage
		action  string
		asked   int
		said    string
	}{
		"fields":              {"Who?", fields(mostFields, text), "accept", mostFields, ""},
		"too many fields":     {"Who?", fields(mostFields+1, text), "decline", 0, "it has 51 fields, at most 50 can be asked for"},
		"choices":             {"Who?", fields(1, choices(mostChoices)), "accept", 1, ""},
		"too many choices":    {"Who?", fields(1, choices(mostChoices+1)), "decline", 0, "a field of it has 501 choices, at most 500 can be offered"},
		"a long description":  {"Who?", fields(1, `{"type":"string","description":"`+long+`"}`), "decline", 0, "at most 65536 can be asked for"},
		"a long message":      {long, fields(1, text), "decline", 0, "at most 65536 can be asked for"},
		"a long message only": {long, nil, "decline", 0, "at most 65536 can be asked for"},
		"required without end": {
			"Who?", json.RawMessage(`{"properties":{"a":{}},"required":["a"` + strings.Repeat(`,"b"`, 1<<20) + `]}`), "decline", 0,
			"at most 65536 can be asked for",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			n := 0
			p := newPeer(tools.MCPConfig{}, "s", Options{Log: zerolog.New(&said), Ask: func(context.Context, Question) (string, error) {
				n++
				return "b", nil
			}})
			p.asked.add(&asked{ctx: t.Context(), call: tools.Call{ID: "c1", Name: "s.form"}})
			got := p.elicit(t.Context(), &sdk.ElicitParams{Message: tt.message, RequestedSchema: tt.form})
			if got.Action != tt.action || n != tt.asked {
				t.Errorf("%s after %d questions, want %s after %d", got.Action, n, tt.action, tt.asked)
			}
			if !strings.Contains(said.String(), tt.said) || (tt.said == "") != (said.Len() == 0) {
				t.Errorf("logged %q, want %q", said.String(), tt.said)
			}
		})
	}
}

// A call may ask several things at once, but not as many as its server likes.
func TestQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waiting atomic.Int32
		answers := make(chan string)
		p := newPeer(tools.MCPConfig{}, "s", Options{Log: zerolog.Nop(), Ask: func(context.Context, Question) (string, error) {
			waiting.Add(1)
			return <-answers, nil
		}})
		p.asked.add(&asked{ctx: t.Context(), call: tools.Call{ID: "c1", Name: "s.form"}})
		var all sync.WaitGroup
		ask := func(n int) (declined *atomic.Int32) {
			declined = new(atomic.Int32)
			for range n {
				all.Go(func() {
					if p.elicit(t.Context(), &sdk.ElicitParams{Message: "Sure?"}).Action == "decline" {
						declined.Add(1)
					}
				})
			}
			synctest.Wait()
			return declined
		}
		if declined := ask(1000); waiting.Load() != mostQuestions || declined.Load() != 1000-mostQuestions {
			t.Errorf("%d questions wait in the chat and %d are declined, want %d to wait", waiting.Load(), declined.Load(), mostQuestions)
		}
		answers <- yes
		synctest.Wait()
		if declined := ask(1); declined.Load() != 0 {
			t.Error("a question is declined though one was answered")
		}
		close(answers)
		all.Wait()
	})
}
