package openai_test

import (
	"fmt"
	"net/http"
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
