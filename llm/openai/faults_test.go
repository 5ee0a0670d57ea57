package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agenthost/llm/llmtest"
)

func TestFaults(t *testing.T) {
	llmtest.Faults(t, dialect, llmtest.Bodies{
		Key:      key,
		Begun:    events(say("a")),
		Finished: events(say("a"), finish("stop")),
		Done:     events(say("a"), finish("stop"), "[DONE]"),
		Whole:    `{"choices":`,
		Leave: []string{
			events(`{"choices":[],"usage":{"prompt_tokens":1}}`), events(say("a")), events(call(`"id":"x"`, "f", `"{}"`)),
		},
		Repeats: func(text string) map[string]http.HandlerFunc {
			said := fmt.Sprintf(`{"error":{"message":%q}}`, text)
			return map[string]http.HandlerFunc{
				"as JSON":   respond(401, nil, said),
				"as code":   respond(401, nil, fmt.Sprintf(`{"error":{"code":%q}}`, key)),
				"in stream": stream(events(said)),
				"as chunk":  stream(events(text)),
			}
		},
	})
}

// What is kept until the answer goes on has a bound as well.
func TestEndless(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for name, piece := range map[string]string{
		"details":  delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"` + large + `"}]}`),
		"a detail": delta(`{"reasoning_details":[{"type":"reasoning.text","signature":"","text":"` + large + `"}]}`),
		"nested":   delta(`{"reasoning_details":[{"type":"x","data":[{"` + large + `":1}]}]}`),
		"space":    say(strings.Repeat(" ", 1<<10)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			llmtest.Endless(t, dialect, "", events(piece))
		})
	}
}
