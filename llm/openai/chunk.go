package openai

import (
	"bytes"
	"encoding/json"

	"agenthost/llm/httpapi"
)

// A chunk is one event of a stream, or, as a server that does not stream sends
// it, the whole answer: then the choices have a message instead of a delta.
// Fields that are not needed are not read, so they can be of any type.
type chunk struct {
	ID      loose      `json:"id"`
	Choices []choice   `json:"choices"`
	Usage   *wireUsage `json:"usage"`
	Error   *wireError `json:"error"`
	Groq    groq       `json:"x_groq"`

	Object  loose `json:"object"` // "error" where the chunk itself is one, as vLLM's were
	Message loose `json:"message"`
	Code    loose `json:"code"`
}

type groq struct {
	Usage *wireUsage `json:"usage"`
	Error loose      `json:"error"` // why it stopped early, beside a good finish_reason
}

func (g *groq) UnmarshalJSON(data []byte) error {
	type plain groq
	httpapi.Readable(data, (*plain)(g))
	return nil
}

type choice struct {
	Delta   *said      `json:"delta"`
	Message *said      `json:"message"`
	Finish  loose      `json:"finish_reason"`
	Usage   *wireUsage `json:"usage"` // Moonshot
	Error   *wireError `json:"error"` // OpenRouter
}

type said struct {
	Content          content   `json:"content"`
	Refusal          loose     `json:"refusal"`
	ReasoningContent loose     `json:"reasoning_content"`
	Reasoning        loose     `json:"reasoning"`
	Details          []detail  `json:"reasoning_details"`
	Calls            toolCalls `json:"tool_calls"`
	Images           []image   `json:"images"`
}

func (s *said) UnmarshalJSON(data []byte) error {
	if httpapi.SaysNothing(data) {
		return nil
	}
	type plain said
	return json.Unmarshal(data, (*plain)(s))
}

type image struct {
	URL imageURL `json:"image_url"`
}

// fault is the error that the chunk reports; nil when there is none.
func (c chunk) fault() *wireError {
	switch {
	case c.Error != nil && *c.Error != (wireError{}):
		return c.Error
	case len(c.Choices) > 0 && c.Choices[0].Error != nil && *c.Choices[0].Error != (wireError{}):
		return c.Choices[0].Error
	case c.Groq.Error != "":
		return &wireError{Message: string(c.Groq.Error)}
	case c.Object == "error":
		return &wireError{Message: string(c.Message), Code: string(c.Code)}
	}
	return nil
}

// ToolCalls are a list, or one alone, as older servers of Hugging Face send it.
type toolCalls []toolCall

func (ts *toolCalls) UnmarshalJSON(data []byte) error {
	if httpapi.SaysNothing(data) {
		return nil
	}
	if data[0] != '{' {
		return json.Unmarshal(data, (*[]toolCall)(ts))
	}
	*ts = make(toolCalls, 1)
	return json.Unmarshal(data, &(*ts)[0])
}

type toolCall struct {
	Index    *place `json:"index"`
	ID       loose  `json:"id"`
	Function struct {
		Name      loose `json:"name"`
		Arguments loose `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"` // Google's: signatures, which it wants back
}

// A place is that of a call among others, as servers write it.
type place = httpapi.Count

// A loose string is any value that servers send for a text.
type loose = httpapi.Loose

// chunks decodes the data of one event. There is more than one chunk in it when
// a server ends its events with one newline instead of two.
func chunks(data []byte) ([]chunk, error) {
	var one chunk
	err := json.Unmarshal(data, &one)
	if err == nil {
		return []chunk{one}, nil
	}
	if !bytes.ContainsRune(data, '\n') {
		return nil, err
	}
	var all []chunk
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || isDone(line) {
			continue
		}
		var c chunk
		if err := json.Unmarshal(line, &c); err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }
