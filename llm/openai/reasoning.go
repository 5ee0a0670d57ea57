package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"agenthost/llm"
)

// Some servers want what the model thought before it called a tool back with
// the result, each under the name it came by, and some refuse a field they do
// not know. So reasoning goes only to the server that it came from, and only
// beside calls.
type reasoningMeta struct {
	From    string   `json:"from"` // the server's host
	As      string   `json:"as,omitempty"`
	Details []detail `json:"details,omitempty"` // then As is not needed
}

// The names that reasoning comes by.
const (
	asReasoningContent = "reasoning_content" // DeepSeek, Qwen, Kimi, GLM, llama.cpp
	asReasoning        = "reasoning"         // OpenRouter, vLLM, Ollama, Groq
	asTags             = openTag             // in the text: MiniMax, Perplexity, vLLM without a parser
)

// A detail is one of OpenRouter's reasoning_details: a text with a signature,
// a summary, or something encrypted.
type detail map[string]any

// Thoughts are the reasoning since the model last said something else.
type thoughts struct {
	from    string
	as      string
	details []detail
	pieces  map[string]*strings.Builder // of the last of these, what its texts go on with
	added   int                         // bytes of details since they were asked for last
}

// news is how many bytes of details have come since it was asked last.
func (t *thoughts) news() int {
	n := t.added
	t.added = 0
	return n
}

// add takes in what s has of reasoning and is its text. Mistral does not want its
// parts back.
func (t *thoughts) add(s *said) string {
	text := string(s.ReasoningContent)
	switch {
	case text != "":
		t.as = asReasoningContent
	case s.Reasoning != "":
		t.as, text = asReasoning, string(s.Reasoning)
	default:
		text = s.Content.thought
	}
	for _, d := range s.Details {
		if text == "" {
			text = d.text()
		}
		t.addDetail(d)
	}
	return text
}

// tagged takes in what stood between tags and is it.
func (t *thoughts) tagged(text string) string {
	if text != "" {
		t.as = asTags
	}
	return text
}

// addDetail makes one of the pieces of a text or a summary; the rest comes
// whole.
func (t *thoughts) addDetail(d detail) {
	if n := len(t.details); n > 0 && d.continues(t.details[n-1]) {
		last := t.details[n-1]
		for k, v := range d {
			switch v, isText := v.(string); {
			case isText && (k == "text" || k == "summary"):
				t.goOn(k, v)
			case isText && v != "":
				last[k] = v
			}
		}
		return
	}
	t.join()
	t.details = append(t.details, d)
	t.added += sizeOf(map[string]any(d))
}

// goOn adds a piece to a text of the last detail. They are joined when all have come: there may be
// many thousands.
func (t *thoughts) goOn(key, piece string) {
	if t.pieces == nil {
		t.pieces = map[string]*strings.Builder{}
	}
	if t.pieces[key] == nil {
		t.pieces[key] = &strings.Builder{}
	}
	t.pieces[key].WriteString(piece)
	t.added += len(piece)
}

// join puts the pieces of the last detail into it.
func (t *thoughts) join() {
	for key, pieces := range t.pieces {
		last := t.details[len(t.details)-1]
		before, _ := last[key].(string)
		last[key] = before + pieces.String()
	}
	t.pieces = nil
}

// sizeOf is about how many bytes a value takes that was JSON.
func sizeOf(value any) int {
	const least = 16
	n := least
	switch v := value.(type) {
	case string:
		n += len(v)
	case []any:
		for _, one := range v {
			n += sizeOf(one)
		}
	case map[string]any:
		for key, one := range v {
			n += len(key) + sizeOf(one)
		}
	}
	return n
}

func (d detail) continues(last detail) bool {
	kind, _ := d["type"].(string)
	index, _ := d["index"].(float64)
	lastIndex, _ := last["index"].(float64)
	return (kind == "reasoning.text" || kind == "reasoning.summary") && last["type"] == kind && lastIndex == index
}

// text is what a person may read of d.
func (d detail) text() string {
	text, _ := d["text"].(string)
	summary, _ := d["summary"].(string)
	return text + summary
}

// meta ends the thoughts; nil when there were none.
func (t *thoughts) meta() json.RawMessage {
	if t.as == "" && len(t.details) == 0 {
		return nil
	}
	t.join()
	m := reasoningMeta{From: t.from, As: t.as, Details: t.details}
	if len(m.Details) > 0 {
		m.As = ""
	}
	*t = thoughts{from: t.from}
	meta, _ := json.Marshal(m) // of strings and what was JSON: never fails
	return meta
}

// giveBack writes into w what the server at host wants back of m.
func giveBack(w *wireMessage, m llm.Message, host string) {
	for _, p := range m.Parts {
		var meta reasoningMeta
		if p.Type != llm.Reasoning || len(p.Meta) == 0 || json.Unmarshal(p.Meta, &meta) != nil || meta.From != host {
			continue
		}
		w.Details = append(w.Details, meta.Details...)
		switch meta.As {
		case asReasoningContent:
			w.ReasoningContent += p.Text
		case asReasoning:
			w.Reasoning += p.Text
		case asTags:
			text, _ := w.Content.(string)
			w.Content = openTag + p.Text + closeTag + "\n\n" + text
		}
	}
}

// forModel puts the least effort that the model knows for none at all.
func (s settings) forModel(name string) settings {
	if s.Effort == string(llm.EffortNone) {
		s.Effort = cmp.Or(leastEffort(name), s.Effort)
	}
	return s
}

// leastEffort is empty for models that can do without thinking, as far as is
// known. Gateways put the vendor in front of a name.
func leastEffort(model string) string {
	name := model[strings.LastIndexByte(model, '/')+1:]
	switch {
	case name == "gpt-5", strings.HasPrefix(name, "gpt-5-"):
		return "minimal"
	case len(name) > 1 && name[0] == 'o' && '1' <= name[1] && name[1] <= '9':
		return string(llm.EffortLow)
	}
	return ""
}
