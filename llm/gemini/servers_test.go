//go:build long

package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// TestServers are Google's own API with all that it may put into a stream, and the
// servers that speak it too.
func TestServers(t *testing.T) {
	styles := map[string]llmtest.Server{}
	for name, style := range servers {
		styles[name] = style.server()
	}
	if n := llmtest.Servers(t, dialect, styles); n < 231 {
		t.Errorf("%d different streams, want 231 at least", n)
	}
}

const safety = `,"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}]`

var servers = map[string]serverStyle{
	"Gemini":                   {usage: "each", fields: `,"modelVersion":"gemini-2.5-flash","responseId":"r1"`},
	"Gemini 3, signatures":     {usage: "each", signed: true, callIDs: true, fields: `,"responseId":"r1"`},
	"Gemini, ratings":          {usage: "each", also: safety, blocks: `{"blockReason":"SAFETY"` + safety + `}`},
	"Gemini, blocked":          {usage: "each", blocks: `{"blockReason":"PROHIBITED_CONTENT"}`, filtered: "PROHIBITED_CONTENT"},
	"Gemini, one chunk":        {usage: "last", together: true},
	"Gemini, searching":        {usage: "last", also: `,"groundingMetadata":{"webSearchQueries":["x"]}`, parts: []string{`{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}`}},
	"Gemini, empty parts":      {usage: "each", parts: []string{`{"text":""}`, `{}`}, bare: true},
	"Gemini, failing models":   {usage: "last", bare: true, fails: `{"candidates":[{"finishReason":"OTHER","finishMessage":"it is broken","index":0}]}`},
	"Gemini, malformed calls":  {usage: "last", signed: true, fails: `{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","index":0}]}`},
	"Vertex":                   {usage: "last", fields: `,"createTime":"2026-01-01T00:00:00Z","responseId":"r1"`, also: `,"avgLogprobs":-0.1`, filtered: "SPII", fails: `[{"error":{"code":503,"message":"it is broken","status":"UNAVAILABLE"}}]`},
	"LF":                       {eol: "\n", usage: "each"},
	"CR":                       {eol: "\r", usage: "last"},
	"comments and a byte mark": {eol: "\n", prelude: "\ufeff: hello\n\n", usage: "last", named: "message"},
	"[DONE]":                   {eol: "\n", usage: "after", trailer: "data: [DONE]\n\n", fails: `{"error":"it is broken"}`},
	"an id for each chunk":     {usage: "last", ids: true, filtered: "RECITATION"},
	"a list":                   {list: true, usage: "last"},
	"no stream":                {whole: true, usage: "last"},
}

// A serverStyle writes answers as one server does.
type serverStyle struct {
	eol     string // "\r\n"
	prelude string // written first, as it is
	trailer string // written last
	named   string // each event's name
	list    bool   // a list of chunks instead of events
	whole   bool   // one chunk that is no event

	fields   string   // of each chunk
	ids      bool     // each chunk has an id of its own
	also     string   // of each candidate
	parts    []string // before all others
	together bool     // all parts and the finish are in one chunk
	bare     bool     // the finish comes without content
	signed   bool     // thoughts and calls have signatures
	callIDs  bool
	usage    string // "each", "last", "after" the finish
	blocks   string // the feedback on a prompt that is refused
	filtered string // "SAFETY"
	fails    string // empty: an error of the server
}

func (y serverStyle) server() llmtest.Server {
	return llmtest.Server{Write: y.write, InOnePiece: y.together || y.whole}
}

func (y serverStyle) write(s llmtest.Script) string {
	if (y.whole || y.list) && s.Finish == "" {
		return "" // they have no half answers
	}
	w := &styleWriter{serverStyle: y, script: s}
	w.b.WriteString(y.prelude)
	if y.list {
		w.b.WriteString("[")
	}
	if s.Refuses && y.blocks != "" {
		w.event(`{"promptFeedback":` + y.blocks + w.fields + `}`)
	} else {
		w.says()
		w.ends()
	}
	if y.list {
		w.b.WriteString("]")
	}
	w.b.WriteString(y.trailer)
	return w.b.String()
}

type styleWriter struct {
	serverStyle
	script llmtest.Script
	b      strings.Builder
	chunks int
	held   []string // parts to come in one chunk
}

func (w *styleWriter) event(data string) {
	eol := w.eol
	if eol == "" {
		eol = "\r\n"
	}
	w.chunks++
	switch {
	case w.list && w.chunks > 1:
		w.b.WriteString(",\n" + data)
	case w.list || w.whole:
		w.b.WriteString(data)
	default:
		if w.named != "" {
			w.b.WriteString("event: " + w.named + eol)
		}
		w.b.WriteString("data: " + data + eol + eol)
	}
}

// candidate writes a chunk with a candidate of these fields.
func (w *styleWriter) candidate(fields, usage string) {
	if w.ids {
		usage += fmt.Sprintf(`,"responseId":"r%d"`, w.chunks)
	}
	w.event(`{"candidates":[{` + fields + `,"index":0` + w.also + `}]` + w.fields + usage + `}`)
}

func content(parts []string) string {
	return `"content":{"parts":[` + strings.Join(parts, ",") + `],"role":"model"}`
}

func (w *styleWriter) part(p string) {
	if w.together || w.whole {
		w.held = append(w.held, p)
		return
	}
	usage := ""
	if w.usage == "each" && w.script.Usage.Input > 0 {
		usage = fmt.Sprintf(`,"usageMetadata":{"promptTokenCount":%d}`, w.script.Usage.Input)
	}
	w.candidate(content([]string{p}), usage)
}

func (w *styleWriter) says() {
	s := w.script
	for _, p := range w.parts {
		w.part(p)
	}
	for i, t := range s.Reasoning {
		signature := ""
		if w.signed && i == len(s.Reasoning)-1 {
			signature = `,"thoughtSignature":"c2ln"`
		}
		w.part(`{"text":` + quoted(t) + `,"thought":true` + signature + `}`)
	}
	for _, t := range s.Text {
		w.part(text(t))
	}
	for i, c := range s.Calls {
		w.call(i, c)
	}
}

// call writes the i-th call, which is never half: of one whose arguments are not all
// there the server has not said anything yet.
func (w *styleWriter) call(i int, c llmtest.ScriptCall) {
	args := strings.Join(c.Args, "")
	if !strings.HasSuffix(args, "}") {
		if w.script.Fails {
			w.part(call(c.Name, `{"city":"Paris"}`))
		}
		return
	}
	p := call(c.Name, args)
	if w.callIDs {
		p = strings.Replace(p, `{"name"`, fmt.Sprintf(`{"id":"f%d","name"`, i), 1)
	}
	if w.signed && i == 0 {
		p = strings.TrimSuffix(p, "}") + `,"thoughtSignature":"c2ln"}`
	}
	w.part(p)
}

func (w *styleWriter) ends() {
	s := w.script
	switch {
	case s.Finish == "" && len(w.held) > 0:
		w.candidate(content(w.held), "")
		w.held = nil
	case s.Finish == "":
	case w.bare:
		w.candidate(fmt.Sprintf(`"finishReason":%q`, w.reason()), w.counted())
	case len(w.held) > 0:
		w.candidate(content(w.held)+fmt.Sprintf(`,"finishReason":%q`, w.reason()), w.counted())
	default:
		w.candidate(content([]string{text("")})+fmt.Sprintf(`,"finishReason":%q`, w.reason()), w.counted())
	}
	switch {
	case s.Fails && w.fails != "":
		w.event(w.fails)
	case s.Fails:
		w.event(`{"error":{"code":500,"message":"it is broken","status":"INTERNAL"}}`)
	case s.Finish != "" && w.usage == "after":
		w.event(`{` + strings.TrimPrefix(w.metadata(), ",") + `}`)
	}
}

func (w *styleWriter) counted() string {
	if w.usage == "after" {
		return ""
	}
	return w.metadata()
}

func (w *styleWriter) metadata() string {
	u := w.script.Usage
	return fmt.Sprintf(`,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d,"cachedContentTokenCount":%d}`,
		u.Input, u.Output, u.Input+u.Output, u.CacheRead)
}

func (w *styleWriter) reason() string {
	switch w.script.Finish {
	case llm.FinishLength:
		return "MAX_TOKENS"
	case llm.FinishContentFilter:
		if w.filtered != "" {
			return w.filtered
		}
		return "SAFETY"
	}
	return "STOP"
}
