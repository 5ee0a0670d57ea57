package gemini

import (
	"fmt"
	"strings"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// finished notes how the model ended. Some servers say in every chunk that they
// have finished: each is given the time for the next.
func (a *answer) finished(c *chunk) error {
	if c.Feedback != nil && c.Feedback.Block != "" {
		a.Finish(llm.FinishContentFilter)
	}
	if len(c.Candidates) > 0 {
		f, err := finishOf(c.Candidates[0])
		if err != nil {
			return llm.Unavailable(err)
		}
		if f != "" {
			a.Finish(f)
		}
	}
	if a.Finished() {
		a.Linger()
	}
	return nil
}

// finishOf is empty while the model goes on. A reason we do not know has ended
// an answer all the same; one that is a fault of the model is worth another try.
func finishOf(c candidate) (llm.Finish, error) {
	switch c.Finish {
	case "", "FINISH_REASON_UNSPECIFIED":
		return "", nil
	case "MAX_TOKENS":
		return llm.FinishLength, nil
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return llm.FinishContentFilter, nil
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE",
		"MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER", "OTHER":
		reason := strings.ToLower(strings.ReplaceAll(string(c.Finish), "_", " "))
		message := ""
		httpapi.Readable(c.Message, &message)
		if message != "" {
			return "", fmt.Errorf("model ended with %s: %s", reason, message)
		}
		return "", fmt.Errorf("model ended with %s", reason)
	}
	return llm.FinishStop, nil
}
