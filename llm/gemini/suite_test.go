package gemini_test

import (
	"net/http"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

func TestSuite(t *testing.T) {
	begin := events(say("Hello "), say("you."))
	suite := llmtest.Suite{
		Answers: func(t testing.TB) llm.Provider { return serve(t, stream(begin+events(finish("STOP")))) },
		Text:    "Hello you.",
		Stalls:  func(t testing.TB) llm.Provider { return serve(t, stall(begin)) },
		Breaks:  func(t testing.TB) llm.Provider { return serve(t, stream(begin)) },
	}
	llmtest.Run(t, suite)
}

func TestConform(t *testing.T) { llmtest.Conform(t, dialect) }

func TestTrace(t *testing.T) { llmtest.Trace(t, dialect) }

func TestHang(t *testing.T) { llmtest.Hang(t, dialect) }

var dialect = llmtest.Dialect{
	Make: func(t testing.TB, cfg llm.Config, transport http.RoundTripper) llm.Provider {
		return provider(t, cfg, transport)
	},
	Dir: "testdata", WholeCalls: true,
	New: func(t testing.TB, baseURL string) llm.Provider { return served(t, baseURL) },
}
