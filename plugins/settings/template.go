package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A Template makes a text from the body of a request.
type Template struct {
	parts []part
}

// A part is a text, or what stands at a path of the body.
type part struct {
	text string
	path []string
}

// ParseTemplate reads a text with ${body.path} in it; ${body} is the whole body,
// and $${ stands for ${.
func ParseTemplate(text string) (*Template, error) {
	t := &Template{}
	for text != "" {
		before, rest, found := strings.Cut(text, "${")
		if literal, ok := strings.CutSuffix(before, "$"); found && ok {
			t.parts = append(t.parts, part{text: literal + "${"})
			text = rest
			continue
		}
		t.parts = append(t.parts, part{text: before})
		if !found {
			break
		}
		inner, after, closed := strings.Cut(rest, "}")
		path := strings.Split(inner, ".")
		if !closed || path[0] != "body" || emptyIn(path) {
			return nil, errors.New("want ${body} or ${body.path} with its }, such as ${body.issue.title}; $${ for the two characters themselves")
		}
		t.parts = append(t.parts, part{path: path})
		text = after
	}
	return t, nil
}

func emptyIn(path []string) bool { return slices.Contains(path, "") }

// Fill makes the text. A number in a path counts the entries of a list from 0.
// What the body does not have is empty, and what is no text is JSON.
func (t *Template) Fill(body []byte) string {
	var value any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // an id stays as long as it is
	if dec.Decode(&value) != nil || dec.More() {
		value = string(body)
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.path != nil {
			b.WriteString(asText(find(value, p.path[1:])))
		}
	}
	return b.String()
}

func find(value any, path []string) any {
	for _, name := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func asText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // it was JSON before
	return strings.TrimSuffix(b.String(), "\n")
}
