package gemini

import (
	"fmt"
	"strconv"
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
//
// A number is that of Google's enumerations. The Gemini API and Vertex count differently from 6
// on: up to 8 both have filters there, and behind that nothing that ends a whole answer.
func finishOf(c candidate) (llm.Finish, error) {
	switch c.Finish {
	case "", "FINISH_REASON_UNSPECIFIED", "0":
		return "", nil
	case "MAX_TOKENS", "2":
		return llm.FinishLength, nil
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "3", "4", "6", "7", "8":
		return llm.FinishContentFilter, nil
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE",
		"MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER", "OTHER":
		return "", fault(c, strings.ToLower(strings.ReplaceAll(string(c.Finish), "_", " ")))
	case "1":
		return llm.FinishStop, nil
	}
	if _, err := strconv.Atoi(string(c.Finish)); err == nil {
		return "", fault(c, "reason "+string(c.Finish))
	}
	return llm.FinishStop, nil
}

// fault is that of a model whose answer ended for a reason.
func fault(c candidate, reason string) error {
	message := ""
	httpapi.Readable(c.Message, &message)
	if message != "" {
		return fmt.Errorf("model ended with %s: %s", reason, message)
	}
	return fmt.Errorf("model ended with %s", reason)
}
