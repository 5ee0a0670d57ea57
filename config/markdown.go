package config

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"agenthost/internal/yamldoc"
)

// addMarkdown reads an agent: YAML between two lines of dashes, then its
// instructions, in which nothing is replaced. Without an id the agent has the
// name of the file; without the dashes the whole file is its instructions.
func (l *loader) addMarkdown(name string, data []byte) {
	l.Files = append(l.Files, name)
	front, body, ok := yamldoc.SplitFront(yamldoc.PlainText(string(data)))
	if !ok {
		l.Add(yamldoc.Place{File: name, Line: 1, Column: 1}, "the front matter is not closed; want a second line of ---")
		l.partial = true
		return
	}
	agent := l.parse(name, []byte(front))
	switch {
	case agent == nil:
		return
	case agent.Null():
		agent = &yamldoc.Node{Kind: yamldoc.Mapping, At: yamldoc.Place{File: name, Line: 1, Column: 1}}
	case agent.Kind != yamldoc.Mapping:
		l.Add(agent.At, "want keys such as model: and channels:, got %s", agent.Describe())
		return
	}
	top := yamldoc.Place{File: name, Line: 1, Column: 1}
	if agent.Get("id") == nil {
		agent.Fields = append(agent.Fields, yamldoc.Text("id", strings.TrimSuffix(filepath.Base(name), ".md"), top))
	}
	if line, column, text := yamldoc.StrayBytes(data); !utf8.ValidString(body) {
		l.Add(yamldoc.Place{File: name, Line: line, Column: column}, "%s", text)
	}
	if f := agent.Get("instructions"); f != nil {
		l.Add(f.Key.At, "the text below the front matter is the instructions; want no key instructions")
	} else if body = strings.TrimSpace(body); body != "" {
		agent.Fields = append(agent.Fields, yamldoc.Text("instructions", body, top))
	}
	agents := &yamldoc.Node{Kind: yamldoc.Sequence, At: top, Items: []*yamldoc.Node{agent}}
	l.merge(&yamldoc.Node{Kind: yamldoc.Mapping, At: top, Fields: []yamldoc.Field{{Key: yamldoc.Text("agents", "", top).Key, Value: agents}}})
}
