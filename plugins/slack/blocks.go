package slack

import (
	"strconv"
	"strings"

	"agenthost/plugins"
)

// A block is a part of a message's layout.
type block struct {
	Type     string    `json:"type"`
	Text     *label    `json:"text,omitempty"`
	Elements []element `json:"elements,omitempty"`
}

type label struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type element struct {
	Type   string `json:"type"`
	Text   *label `json:"text,omitempty"`
	Action string `json:"action_id,omitempty"`
	Value  string `json:"value,omitempty"`
}

const (
	sectionSize = 3000
	labelSize   = 75
)

// layout shows a text with buttons below it.
func layout(text string, buttons []plugins.Button) []block {
	row := block{Type: "actions"}
	for i, b := range buttons {
		row.Elements = append(row.Elements, element{
			Type: "button", Text: &label{"plain_text", shorten(b.Label, labelSize)},
			Action: "agenthost_" + strconv.Itoa(i), Value: b.Data,
		})
	}
	return append(sections(text), row)
}

// sections shows a text in as many blocks as it needs.
func sections(text string) []block {
	var blocks []block
	for text != "" {
		part := text
		if length(text) > sectionSize {
			part = shorten(text, sectionSize)
			if i := strings.LastIndexByte(part, '\n'); i > 0 {
				part = part[:i+1]
			}
		}
		text = text[len(part):]
		blocks = append(blocks, block{Type: "section", Text: &label{"mrkdwn", part}})
	}
	return blocks
}

// shorten cuts a text to size, not within a rune.
func shorten(text string, size int) string {
	n := 0
	for i, r := range text {
		if n += length(string(r)); n > size {
			return text[:i]
		}
	}
	return text
}
