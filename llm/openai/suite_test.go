package openai_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

func TestSuite(t *testing.T) {
	begin := events(say("Hello "), say("you."))
	suite := llmtest.Suite{
		Answers: func(t testing.TB) llm.Provider { return serve(t, stream(begin+events(finish("stop"), "[DONE]"))) },
		Text:    "Hello you.",
		Stalls:  func(t testing.TB) llm.Provider { return serve(t, stall(begin)) },
		Breaks:  func(t testing.TB) llm.Provider { return serve(t, stream(begin)) },
	}
	llmtest.Run(t, suite)
}
