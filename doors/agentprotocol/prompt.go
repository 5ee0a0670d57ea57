package agentprotocol

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"agenthost/bus"
)

// A prompt is what a caller asks, and what it answers to a query.
type prompt struct {
	text    string
	session string // empty: one for this prompt alone
	files   []file
	more    map[string]any // the fields that the protocol does not know
}

// A file is an attachment.
type file struct {
	Filename string
	Content  []byte
}

// envelope is a prompt in JSON.
type envelope struct {
	Prompt      *string      `json:"prompt"`
	Session     string       `json:"session"`
	Attachments []attachment `json:"attachments"`
}

// An attachment is a file, with its content in padded base64.
type attachment struct {
	Filename string  `json:"filename"`
	Content  *string `json:"content"`
}

// readPrompt reads plain text, or JSON where the first character is a brace.
func readPrompt(data []byte) (prompt, error) {
	start := bytes.TrimLeft(data, "\t\n\r ")
	switch {
	case len(data) == 0:
		return prompt{}, errors.New("the prompt is empty; send text, or JSON with prompt")
	case !utf8.Valid(data):
		return prompt{}, errors.New("the prompt is not UTF-8")
	case len(start) == 0:
		return prompt{}, errors.New("the prompt is blank; send text, or JSON with prompt")
	case start[0] != '{':
		return prompt{text: string(data)}, nil
	}
	var env envelope
	if err := json.Unmarshal(start, &env); err != nil {
		return prompt{}, fmt.Errorf("the prompt begins with { but is not an envelope: %s", bus.JSONFault(err))
	}
	if env.Prompt == nil || *env.Prompt == "" {
		return prompt{}, errors.New(`the envelope has no text; send {"prompt": "…"}`)
	}
	p := prompt{text: *env.Prompt, session: env.Session}
	for i, a := range env.Attachments {
		f, err := a.file()
		if err != nil {
			return prompt{}, fmt.Errorf("attachment %d %w", i+1, err)
		}
		p.files = append(p.files, f)
	}
	if err := json.Unmarshal(start, &p.more); err != nil {
		return prompt{}, err
	}
	for _, known := range []string{"prompt", "session", "attachments"} {
		delete(p.more, known)
	}
	return p, nil
}

func (a attachment) file() (file, error) {
	if a.Filename == "" || a.Content == nil {
		return file{}, errors.New("needs filename and content")
	}
	content, err := base64.StdEncoding.DecodeString(*a.Content)
	if err != nil {
		return file{}, fmt.Errorf("%q is not padded base64: %w", a.Filename, err)
	}
	return file{a.Filename, content}, nil
}
