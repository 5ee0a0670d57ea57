//go:build long

package anthropic_test

import (
	"testing"

	"agenthost/llm/llmtest"
)

func TestConform(t *testing.T) { llmtest.Conform(t, dialect) }
