package run

import "agenthost/llm"

// sentences tell a person what happened, and what can be done about it.
var sentences = map[llm.Code]string{
	llm.CodeValidation:          "I could not make sense of that message.",
	llm.CodeRateLimited:         "You are writing faster than I may answer. Please send this again a little later.",
	llm.CodeContentFilter:       "The model's provider refused to answer this.",
	llm.CodeProviderAuth:        "I am not allowed to use my model at the moment. The operator has to check my settings.",
	llm.CodeProviderRateLimit:   "My model is too busy at the moment. Please try again in a minute.",
	llm.CodeProviderUnavailable: "My model did not answer. Please try again later.",
	llm.CodeToolDenied:          "I was not allowed to do what this needs.",
	llm.CodeToolFailed:          "I could not use my tools properly and gave up. Please try to put it another way.",
	llm.CodeToolUnavailable:     "A tool that I need is not available at the moment.",
	llm.CodeBudgetExceeded:      "The budget for this is used up.",
	llm.CodeRunTimeout:          "This took too long, so I stopped.",
	llm.CodeTurnLimit:           "This took too many steps, so I stopped. Please try a smaller task.",
	llm.CodeCompactionFailed:    "Our conversation became too long for me to go on.",
	llm.CodeCancelled:           "Stopped.",
	llm.CodeSandboxError:        "I could not run a command safely, so I did not run it.",
	llm.CodeInternal:            "Something went wrong on my side. Please try again.",
}

// Sentence is what a person is told about a run that ended with code; an
// unknown code reads as an internal one.
func Sentence(code llm.Code) string {
	if s, ok := sentences[code]; ok {
		return s
	}
	return sentences[llm.CodeInternal]
}

// told is e with a code of the closed set and a sentence to show.
func (m *machine) told(e *Error) Error {
	t := *e
	if _, ok := sentences[t.Code]; !ok {
		t.Code = llm.CodeInternal
	}
	if t.Message = valid(t.Message); t.Message == "" {
		t.Message = m.sentence(t.Code)
	}
	return t
}

func (m *machine) sentence(code llm.Code) string {
	if m.lim.Sentence != nil {
		return m.lim.Sentence(code)
	}
	return Sentence(code)
}
