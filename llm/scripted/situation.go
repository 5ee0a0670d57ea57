package scripted

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agenthost/llm"
)

// A situation is what a rule looks at: where the conversation stands.
type situation struct {
	messages []llm.Message
	text     string     // of the last user message
	results  []llm.Part // of tools, that have come since anybody else spoke
	result   string     // what ${result} stands for
}

func situationOf(req llm.Request) situation {
	s := situation{messages: req.Messages, text: req.LastText()}
	for _, m := range slices.Backward(req.Messages) {
		if m.Role != llm.Tool {
			break
		}
		s.results = append(s.results, m.Parts...)
	}
	return s
}

// resultOf finds the result of the named tool, or, for "*", of any.
func (s situation) resultOf(tool string) (llm.Part, bool) {
	for _, p := range s.results {
		if p.Type == llm.ToolResult && (tool == "*" || tool == cmp.Or(p.Name, s.calledBy(p.Call))) {
			return p, true
		}
	}
	return llm.Part{}, false
}

// calledBy is the name of the tool that a call was for.
func (s situation) calledBy(id string) string {
	for _, m := range slices.Backward(s.messages) {
		for _, p := range m.Parts {
			if p.Type == llm.ToolCall && p.Call == id {
				return p.Name
			}
		}
	}
	return ""
}

// expand puts the conversation into what a script says.
func (s situation) expand(text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return strings.NewReplacer("${text}", s.text, "${result}", s.result).Replace(text)
}

// newID is the id of the i-th call of an answer: the same in every replay and
// new to the conversation, also after old messages have been summed up.
func (s situation) newID(i int) string {
	for n := len(s.messages); ; n++ {
		id := fmt.Sprintf("call_%d_%d", n, i)
		if s.calledBy(id) == "" {
			return id
		}
	}
}

// noRule is why nothing can be said in s.
func (s situation) noRule() error {
	if p, ok := s.resultOf("*"); ok {
		return fmt.Errorf("no rule fits the result of tool %q to the text %q", cmp.Or(p.Name, s.calledBy(p.Call)), s.text)
	}
	return fmt.Errorf("no rule fits the text %q", s.text)
}
