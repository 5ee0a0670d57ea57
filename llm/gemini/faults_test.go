package gemini_test

import (
	"net/http"
	"testing"

	"agenthost/llm/llmtest"
)

func TestFaults(t *testing.T) {
	llmtest.Faults(t, dialect, llmtest.Bodies{
		Key:      key,
		Begun:    events(say("a")),
		Finished: events(say("a"), finish("STOP")),
		Whole:    `{"candidates":`,
		Leave: []string{
			events(`{"usageMetadata":{"promptTokenCount":1}}`), events(say("a")), events(parts(call("f", "{}"))),
			events(parts(`{"text":"","thoughtSignature":"c2ln"}`)),
		},
		Repeats: func(text string) map[string]http.HandlerFunc {
			return map[string]http.HandlerFunc{
				"as JSON":     respond(401, nil, said(401, "UNAUTHENTICATED", text)),
				"as status":   respond(401, nil, said(401, key, "")),
				"in stream":   stream(events(said(503, "UNAVAILABLE", text))),
				"as chunk":    stream(events(text)),
				"as a finish": stream(events(`{"candidates":[{"finishReason":"OTHER","finishMessage":` + quoted(text) + `}]}`)),
			}
		},
	})
}
