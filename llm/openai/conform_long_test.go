//go:build long

package openai_test

import (
	"testing"

	"agenthost/llm/llmtest"
)

func TestConform(t *testing.T) { llmtest.Conform(t, dialect) }
