package gemini

import (
	"encoding/json"

	"agenthost/llm"
)

// A chunk is one event of a stream, or, as a server that does not stream sends
// it, the whole answer.
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   *feedback   `json:"promptFeedback"`
	Usage      *wireUsage  `json:"usageMetadata"`
	Error      *wireError  `json:"error"`

	ID json.RawMessage `json:"responseId"`
}

type candidate struct {
	Content struct {
		Parts []part `json:"parts"`
	} `json:"content"`
	Finish  string `json:"finishReason"`
	Message string `json:"finishMessage"`
}

// A feedback says that the prompt itself was refused; then there is no answer.
type feedback struct {
	Block string `json:"blockReason"`
}

// A wireUsage is what has been counted so far.
type wireUsage struct {
	Prompt     int64 `json:"promptTokenCount"`
	ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"` // in Prompt
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"` // not in Candidates
}

func (u *wireUsage) usage() llm.Usage {
	return llm.Usage{
		Input:     u.Prompt + u.ToolPrompt,
		CacheRead: u.Cached,
		Output:    u.Candidates + u.Thoughts,
		Reasoning: u.Thoughts,
	}
}

// isEmpty reports whether it is something else than a chunk.
func (c *chunk) isEmpty() bool {
	return len(c.Candidates) == 0 && c.Feedback == nil && c.Usage == nil && c.Error == nil
}
