package openai_test

import (
	"net/http"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

func TestTrace(t *testing.T) { llmtest.Trace(t, dialect) }

func TestHang(t *testing.T) { llmtest.Hang(t, dialect) }

var dialect = llmtest.Dialect{
	Make: func(t testing.TB, cfg llm.Config, transport http.RoundTripper) llm.Provider {
		return provider(t, cfg, transport)
	},
	Dir: "testdata/conform",
	New: func(t testing.TB, baseURL string) llm.Provider { return provider(t, llm.Config{BaseURL: baseURL}, nil) },
}
