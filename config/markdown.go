package config

import (
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// addMarkdown reads an agent: YAML between two lines of dashes, then its
// instructions, in which nothing is replaced. Without an id the agent has the
// name of the file; without the dashes the whole file is its instructions.
func (l *loader) addMarkdown(name string, data []byte) {
	l.files = append(l.files, name)
	front, body, ok := splitFront(plainText(string(data)))
	if !ok {
		l.add(place{name, 1, 1}, "the front matter is not closed; want a second line of ---")
		l.partial = true
		return
	}
	agent := l.parse(name, []byte(front))
	switch {
	case agent == nil:
		return
	case agent.null():
		agent = &node{kind: mapping, at: place{name, 1, 1}}
	case agent.kind != mapping:
		l.add(agent.at, "want keys such as model: and channels:, got %s", agent.describe())
		return
	}
	top := place{name, 1, 1}
	if agent.get("id") == nil {
		agent.fields = append(agent.fields, text("id", strings.TrimSuffix(filepath.Base(name), ".md"), top))
	}
	if line, column, text := strayBytes(data); !utf8.ValidString(body) {
		l.add(place{name, line, column}, "%s", text)
	}
	if f := agent.get("instructions"); f != nil {
		l.add(f.key.at, "the text below the front matter is the instructions; want no key instructions")
	} else if body = strings.TrimSpace(body); body != "" {
		agent.fields = append(agent.fields, text("instructions", body, top))
	}
	agents := &node{kind: sequence, at: top, items: []*node{agent}}
	l.merge(&node{kind: mapping, at: top, fields: []field{{key: text("agents", "", top).key, value: agents}}})
}

// plainText is text without the marks of some editors.
func plainText(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
}

// splitFront returns the front matter with an empty line in place of its first
// dashes, so that its lines keep their numbers.
func splitFront(text string) (front, body string, ok bool) {
	rest, found := strings.CutPrefix(text, "---\n")
	if !found {
		return "", text, true
	}
	if body, found = strings.CutPrefix(rest, "---\n"); found {
		return "", body, true
	}
	front, body, found = strings.Cut(rest+"\n", "\n---\n")
	return "\n" + front, body, found
}

// text returns a field that no file holds as such.
func text(key, value string, at place) field {
	word := func(s string) *node { return &node{kind: scalar, tag: "!!str", value: s, source: s, at: at} }
	return field{key: word(key), value: word(value)}
}
