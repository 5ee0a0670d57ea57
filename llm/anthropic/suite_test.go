package anthropic_test

import (
	"net/http"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

func TestSuite(t *testing.T) {
	started := events(start(`"input_tokens":3`), begin(0, textBlock), say("Hello "), say("you."))
	llmtest.Run(t, llmtest.Suite{
		Answers: func(t testing.TB) llm.Provider {
			return serve(t, stream(started+events(done(0), stop("end_turn"), end)))
		},
		Text:   "Hello you.",
		Stalls: func(t testing.TB) llm.Provider { return serve(t, stall(started)) },
		Breaks: func(t testing.TB) llm.Provider { return serve(t, stream(started)) },
	})
}

func TestTrace(t *testing.T) { llmtest.Trace(t, dialect) }

func TestHang(t *testing.T) { llmtest.Hang(t, dialect) }

var dialect = llmtest.Dialect{
	Make: func(t testing.TB, cfg llm.Config, transport http.RoundTripper) llm.Provider {
		return provider(t, cfg, transport)
	},
	Dir: "testdata",
	New: func(t testing.TB, baseURL string) llm.Provider { return at(t, baseURL) },
}
