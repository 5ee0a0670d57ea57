package openai

import (
	"encoding/json"
	"strings"
)

// Content is a string or a list of parts. Of those the texts count, and with
// Mistral what the model thinks.
type content struct {
	text    string
	thought string
}

type contentPart struct {
	Text     loose   `json:"text"`
	Thinking content `json:"thinking"` // parts again
}

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, &c.text)
	}
	var parts []contentPart
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var text, thought strings.Builder
	for _, p := range parts {
		text.WriteString(string(p.Text))
		thought.WriteString(p.Thinking.text)
	}
	c.text, c.thought = text.String(), thought.String()
	return nil
}
