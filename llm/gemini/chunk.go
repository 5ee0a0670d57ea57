package gemini

import (
	"encoding/json"

	"agenthost/llm"
	"agenthost/llm/httpapi"
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
	Content said            `json:"content"`
	Finish  httpapi.Loose   `json:"finishReason"`
	Message json.RawMessage `json:"finishMessage"`
}

type said struct {
	Parts []part `json:"parts"`
}

func (s *said) UnmarshalJSON(data []byte) error {
	if httpapi.SaysNothing(data) {
		return nil
	}
	type plain said
	return json.Unmarshal(data, (*plain)(s))
}

// A feedback says that the prompt itself was refused; then there is no answer.
type feedback struct {
	Block string `json:"blockReason"`
}

func (f *feedback) UnmarshalJSON(data []byte) error {
	type plain feedback
	httpapi.Readable(data, (*plain)(f))
	return nil
}

// A wireUsage is what has been counted so far. One of another type is unknown.
type wireUsage struct {
	Prompt     httpapi.Count `json:"promptTokenCount"`
	ToolPrompt httpapi.Count `json:"toolUsePromptTokenCount"`
	Cached     httpapi.Count `json:"cachedContentTokenCount"` // in Prompt
	Candidates httpapi.Count `json:"candidatesTokenCount"`
	Thoughts   httpapi.Count `json:"thoughtsTokenCount"` // not in Candidates
}

func (u *wireUsage) UnmarshalJSON(data []byte) error {
	type plain wireUsage
	httpapi.Readable(data, (*plain)(u))
	return nil
}

func (u *wireUsage) usage() llm.Usage {
	return llm.Usage{
		Input:     int64(u.Prompt + u.ToolPrompt),
		CacheRead: int64(u.Cached),
		Output:    int64(u.Candidates + u.Thoughts),
		Reasoning: int64(u.Thoughts),
	}
}

// isEmpty reports whether it is something else than a chunk.
func (c *chunk) isEmpty() bool {
	return len(c.Candidates) == 0 && c.Feedback == nil && c.Usage == nil && c.Error == nil
}
