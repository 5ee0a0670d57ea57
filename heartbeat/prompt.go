package heartbeat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Prompt is a text with places in it that are filled from an event:
// ${payload}, ${subject}, ${subject.2} for a token of the subject, from 0, and
// ${a.b.0} for a value of a payload that is JSON. $${ stands for ${ itself.
type Prompt struct{ parts []piece }

// A piece is text as it stands, or a place.
type piece struct {
	text string
	path []string // nil: text
}

// What comes from outside is bounded: the agent pays for every word of it.
const (
	mostOfPlace  = 16 << 10
	mostOfPrompt = 64 << 10
)

// ParsePrompt reads the text of a prompt. Its error joins one for each place that is wrong,
// which says what would be right.
func ParsePrompt(text string) (*Prompt, error) {
	p := &Prompt{}
	var faults []error
	for text != "" {
		before, after, found := strings.Cut(text, "${")
		if !found {
			p.say(text)
			break
		}
		if strings.HasSuffix(before, "$") {
			p.say(before + "{")
			text = after
			continue
		}
		p.say(before)
		place, rest, closed := strings.Cut(after, "}")
		if !closed {
			faults = append(faults, fmt.Errorf("%q is not closed; want } behind the name, or $${ for the two signs themselves", "${"+head(after, 20)))
			break
		}
		path := strings.Split(place, ".")
		if err := checkPlace(place, path); err != nil {
			faults = append(faults, err)
		}
		p.parts = append(p.parts, piece{path: path})
		text = rest
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return p, nil
}

func (p *Prompt) say(text string) {
	if text != "" {
		p.parts = append(p.parts, piece{text: text})
	}
}

func checkPlace(place string, path []string) error {
	for _, step := range path {
		if strings.TrimSpace(step) != step || step == "" {
			return fmt.Errorf("%q is no name; want a path such as ${id} or ${items.0.name}, ${payload}, ${subject} or ${subject.2}", "${"+place+"}")
		}
	}
	if path[0] != "subject" || len(path) == 1 {
		return nil
	}
	if n, err := strconv.Atoi(path[1]); err != nil || n < 0 || len(path) > 2 {
		return fmt.Errorf("%q is no token; want its number, from 0, such as ${subject.2}", "${"+place+"}")
	}
	return nil
}

// Fill returns the text with its places filled. A place for which the event has
// nothing stays empty; what is filled in is not looked at again, so a payload
// that holds ${…} says just that.
func (p *Prompt) Fill(subject string, payload []byte) string {
	var fields any
	read := false
	b := strings.Builder{}
	for _, part := range p.parts {
		if part.path == nil {
			b.WriteString(part.text)
			continue
		}
		if !read && part.path[0] != "subject" && (part.path[0] != "payload" || len(part.path) > 1) {
			fields, read = decode(payload), true
		}
		b.WriteString(head(clean(place(part.path, subject, payload, fields)), mostOfPlace))
	}
	text := head(b.String(), mostOfPrompt)
	if strings.TrimSpace(text) == "" {
		return "A message on " + clean(subject)
	}
	return text
}

func place(path []string, subject string, payload []byte, fields any) string {
	switch {
	case path[0] == "subject" && len(path) == 1:
		return subject
	case path[0] == "subject":
		tokens := strings.Split(subject, ".")
		if n, _ := strconv.Atoi(path[1]); n < len(tokens) {
			return tokens[n]
		}
		return ""
	case path[0] == "payload" && len(path) == 1:
		return string(payload)
	case path[0] == "payload":
		path = path[1:]
	}
	return written(valueAt(fields, path))
}

func decode(payload []byte) any {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber() // an id of 17 digits stays what it is
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

func valueAt(v any, path []string) any {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(at) {
				return nil
			}
			v = at[n]
		default:
			return nil
		}
	}
	return v
}

func written(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b := bytes.Buffer{}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// clean is text that a message can carry.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// head is the beginning of s, about n bytes of whole characters.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
