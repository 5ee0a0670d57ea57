package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"agenthost/llm/llmtest"
)

func TestFaults(t *testing.T) {
	begun := events(start(`"input_tokens":3`), begin(0, textBlock), say("a"))
	finished := begun + events(done(0), stop("end_turn"))
	llmtest.Faults(t, dialect, llmtest.Bodies{
		Key:      key,
		Begun:    begun,
		Finished: finished,
		Done:     finished + events(end),
		Whole:    `{"type":`,
		Leave: []string{
			events(start(`"input_tokens":1`)), events(begin(0, textBlock), say("a")), events(begin(0, toolBlock)),
			events(begin(0, `{"type":"thinking","thinking":"","signature":"s"}`), done(0)),
			events(begin(0, `{"type":"redacted_thinking","data":"s"}`), stop("end_turn")),
		},
		Repeats: func(text string) map[string]http.HandlerFunc {
			return map[string]http.HandlerFunc{
				"as JSON":   respond(401, nil, failed("authentication_error", text)),
				"as type":   respond(401, nil, failed(key, "")),
				"in stream": stream(events(failed("api_error", text))),
				"as event":  stream("data: " + text + "\n\n"),
			}
		},
	})
}

// What is kept until a block is over has a bound as well.
func TestEndless(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	begun := events(start(`"input_tokens":3`), begin(0, `{"type":"thinking","thinking":"","signature":""}`))
	for name, piece := range map[string]string{
		"a signature": `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + large + `"}}`,
		"blocks":      begin(1, `{"type":"redacted_thinking","data":"`+large+`"}`),
		"inputs":      begin(1, `{"type":"tool_use","id":"x","name":"f","input":{"a":"`+large+`"}}`),
		"empty":       begin(1, `{"type":"unknown"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			llmtest.Endless(t, dialect, begun, events(piece))
		})
	}
}
