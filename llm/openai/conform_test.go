package openai_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

func TestConform(t *testing.T) { llmtest.Conform(t, dialect) }

func TestTrace(t *testing.T) { llmtest.Trace(t, dialect) }

func TestHang(t *testing.T) { llmtest.Hang(t, dialect) }

var dialect = llmtest.Dialect{
	Dir: "testdata/conform",
	New: func(t testing.TB, baseURL string) llm.Provider { return provider(t, llm.Config{BaseURL: baseURL}, nil) },
}
