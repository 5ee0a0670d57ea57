package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// A serverStyle writes answers as one of the servers does that call themselves compatible.
// The zero one is OpenAI's, but for fields that are not read.
type serverStyle struct {
	// Lines.
	eol     string // "\n"
	field   string // "data: "
	prelude string // written before the first event, as it is
	between string // written before each event, as it is
	named   string // each event's name
	done    string // after the last event; "none": nothing
	split   bool   // an event's data comes in two lines
	tight   bool   // no empty line ends an event

	// Chunks.
	id       string // of all chunks: "same" (none given), "each" its own, "none"
	opening  string // a chunk before all others; "none": the first has the role instead
	role     bool   // in each delta
	fields   string // of each chunk, as they are written
	also     string // of each choice, as it is written
	content  string // how a text is written: a string, "parts"
	idle     string // a field of deltas that say no text, as it is written
	together bool   // the reason comes with the last delta

	thinks  string // a field, "details", "tags", "split tags", "parts"; empty: the model does not think
	refusal string // "content": a refusal is a text that ends with content_filter
	call    callStyle
	usage   string // "last" (none given), "finish", "each", "choice", "x_groq", "none"
	count   func(llm.Usage) string
	thought int64 // what count reports of it as reasoning
	reasons map[llm.Finish]string
	fails   []string // the lines of an error; empty: an error object
	whole   bool     // it does not stream
	noTools bool     // it knows no tools
}

// A callStyle is how calls are written.
type callStyle struct {
	whole    bool   // arguments come at once
	together bool   // all calls come in one chunk
	alone    bool   // tool_calls is the call, not a list of them
	index    string // "own" (none given), "zero", "none"
	id       string // "first" (none given), "each", "none", "empty" after the first, "changing", "number"
	name     string // "first" (none given), "each", "null" after the first, "late"
	object   bool   // arguments are an object, not its text
	repeats  string // the arguments come once more when they are complete: "text", "quoted"
	extra    string // of the first piece of a call, as it is written
}

func (d serverStyle) server() llmtest.Server {
	return llmtest.Server{Write: d.write, NoUsage: d.usage == "none", Thought: d.thought, InOnePiece: d.whole || d.tight}
}

func (d serverStyle) write(s llmtest.Script) string {
	halfObject := d.call.object && len(s.Calls) > 0 && s.Finish == ""
	if len(s.Reasoning) > 0 && d.thinks == "" || len(s.Calls) > 0 && d.noTools || halfObject {
		return ""
	}
	w := &styleWriter{serverStyle: d, script: s}
	if d.whole {
		return w.message()
	}
	w.b.WriteString(d.prelude)
	switch d.opening {
	case "":
		w.delta(`{"role":"assistant","content":""}`)
	case "none":
	default:
		w.event(d.opening)
	}
	w.says()
	w.ends()
	return w.b.String()
}

type styleWriter struct {
	serverStyle
	script  llmtest.Script
	b       strings.Builder
	chunks  int
	pending string // the last delta, until it is known whether it is the last
}

// event writes lines as they are, or data as an event.
func (w *styleWriter) event(data string) {
	eol := or(w.eol, "\n")
	w.b.WriteString(w.between)
	if w.named != "" {
		w.b.WriteString("event: " + w.named + eol)
	}
	field := or(w.field, "data: ")
	if w.split {
		data = strings.Replace(data, `,"choices"`, ","+eol+field+`"choices"`, 1)
	}
	w.b.WriteString(field + data + eol)
	if !w.tight {
		w.b.WriteString(eol)
	}
}

func (w *styleWriter) chunk(choices, fields string) {
	id := `"id":"c1",`
	switch w.id {
	case "each":
		id = fmt.Sprintf(`"id":"c%d",`, w.chunks)
	case "none":
		id = ""
	}
	w.chunks++
	w.event(`{` + id + `"object":"chat.completion.chunk","choices":[` + choices + `]` + w.fields + fields + `}`)
}

// delta writes the delta before, as this one is the last now.
func (w *styleWriter) delta(d string) {
	w.flush(`null`, "")
	switch {
	case w.role && !strings.Contains(d, `"role"`):
		d = `{"role":"assistant",` + d[1:]
	case w.opening == "none" && w.chunks == 0 && w.pending == "":
		d = `{"role":"assistant",` + d[1:]
	}
	w.pending = d
	if !w.together {
		w.flush(`null`, "")
	}
}

func (w *styleWriter) flush(reason, fields string) {
	if w.pending == "" {
		return
	}
	usage := ""
	if w.usage == "each" {
		usage = w.counted(llm.Usage{Input: w.script.Usage.Input, Output: 4})
	}
	if fields != "" {
		usage = fields
	}
	d := w.pending
	w.pending = ""
	w.chunk(`{"index":0,"delta":`+d+`,"finish_reason":`+reason+w.also+`}`, usage)
}

func (w *styleWriter) counted(u llm.Usage) string {
	if u == (llm.Usage{}) || w.usage == "none" {
		return ""
	}
	if w.count != nil {
		return `,"usage":` + w.count(u)
	}
	return `,"usage":` + counted(u)
}

func counted(u llm.Usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.CacheRead)
}

func (w *styleWriter) says() {
	w.thoughts()
	for _, t := range w.script.Text {
		switch {
		case w.script.Refuses && w.refusal == "":
			w.delta(`{"refusal":` + quoted(t) + `}`)
		case w.content == "parts":
			w.delta(`{"content":[{"type":"text","text":` + quoted(t) + `}]}`)
		default:
			w.delta(`{"content":` + quoted(t) + `}`)
		}
	}
	w.toolCalls()
}

func (w *styleWriter) thoughts() {
	said := w.script.Reasoning
	if len(said) == 0 {
		return
	}
	switch w.thinks {
	case "tags":
		for _, t := range append(append([]string{"<think>"}, said...), "</think>", "\n\n") {
			w.delta(`{"content":` + quoted(t) + `}`)
		}
	case "split tags":
		all := "\n<think>" + strings.Join(said, "") + "</think>\n"
		for len(all) > 0 {
			n := min(5, len(all))
			w.delta(`{"content":` + quoted(all[:n]) + `}`)
			all = all[n:]
		}
	case "parts":
		for _, t := range said {
			w.delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":` + quoted(t) + `}]}]}`)
		}
	case "details":
		for _, t := range said {
			w.delta(`{"content":"","reasoning_details":[{"type":"reasoning.text","index":0,"text":` + quoted(t) + `}]}`)
		}
	default:
		for _, t := range said {
			w.delta(`{` + w.idle + quoted(w.thinks) + `:` + quoted(t) + `}`)
		}
	}
}

func (w *styleWriter) toolCalls() {
	style := w.call
	var pieces []string // of calls, in the order they are sent
	for i, c := range w.script.Calls {
		pieces = append(pieces, w.pieces(i, c)...)
	}
	switch {
	case len(pieces) == 0:
	case style.together:
		w.delta(`{` + w.idle + `"tool_calls":[` + strings.Join(pieces, ",") + `]}`)
	case style.alone:
		for _, p := range pieces {
			w.delta(`{` + w.idle + `"tool_calls":` + p + `}`)
		}
	default:
		for _, p := range pieces {
			w.delta(`{` + w.idle + `"tool_calls":[` + p + `]}`)
		}
	}
}

// pieces are those of the i-th call.
func (w *styleWriter) pieces(i int, c llmtest.ScriptCall) []string {
	style, args := w.call, append([]string{""}, c.Args...)
	all := strings.Join(c.Args, "")
	if style.whole {
		args = []string{all}
	}
	switch {
	case json.Valid([]byte(all)) && style.repeats == "text":
		args = append(args, all)
	case json.Valid([]byte(all)) && style.repeats == "quoted":
		args = append(args, quoted(all))
	}
	var pieces []string
	for n, a := range args {
		var fields, function []string
		switch style.index {
		case "":
			fields = append(fields, fmt.Sprintf(`"index":%d`, i))
		case "zero":
			fields = append(fields, `"index":0`)
		}
		switch {
		case style.id == "number":
			fields = append(fields, fmt.Sprintf(`"id":%d`, i))
		case style.id == "changing":
			fields = append(fields, fmt.Sprintf(`"id":"call_%d%d"`, i, n))
		case style.id == "each", n == 0 && style.id != "none":
			fields = append(fields, fmt.Sprintf(`"id":"call_%d"`, i))
		case style.id == "empty":
			fields = append(fields, `"id":""`)
		}
		if n == 0 {
			fields = append(fields, `"type":"function"`)
			if style.extra != "" {
				fields = append(fields, style.extra)
			}
		}
		switch {
		case style.name == "each", n == 0 && style.name != "late", n == 1 && style.name == "late":
			function = append(function, `"name":`+quoted(c.Name))
		case style.name == "null":
			function = append(function, `"name":null`)
		}
		if style.object {
			function = append(function, `"arguments":`+a)
		} else {
			function = append(function, `"arguments":`+quoted(a))
		}
		fields = append(fields, `"function":{`+strings.Join(function, ",")+`}`)
		pieces = append(pieces, `{`+strings.Join(fields, ",")+`}`)
	}
	return pieces
}

func (w *styleWriter) ends() {
	s := w.script
	switch {
	case s.Fails:
		w.flush(`null`, "")
		for _, line := range w.fails {
			w.b.WriteString(line + or(w.eol, "\n"))
		}
		if len(w.fails) == 0 {
			w.event(`{"error":{"message":"it is broken","type":"server_error","param":null,"code":null}}`)
		}
	case s.Finish == "":
		w.flush(`null`, "")
		return
	default:
		w.finish()
	}
	if w.done != "none" {
		w.b.WriteString(or(w.done, or(w.field, "data: ")+"[DONE]"+or(w.eol, "\n")+or(w.eol, "\n")))
	}
}

func (w *styleWriter) finish() {
	usage, fields, also := w.counted(w.script.Usage), "", w.also
	switch w.usage {
	case "finish", "each":
		fields = usage
	case "choice":
		w.also += usage
	case "x_groq":
		fields = `,"x_groq":{"id":"r1"` + usage + `}`
	}
	if w.pending == "" {
		w.pending = `{}`
	}
	w.flush(quoted(w.reason()), fields)
	w.also = also
	if w.usage == "" && usage != "" {
		w.chunk("", usage)
	}
}

func (w *styleWriter) reason() string {
	if r := w.reasons[w.script.Finish]; r != "" {
		return r
	}
	if w.script.Refuses && w.refusal == "" {
		return "stop"
	}
	return string(w.script.Finish)
}

// message is the answer of a server that does not stream.
func (w *styleWriter) message() string {
	s := w.script
	if s.Finish == "" {
		return "" // it has no half answers
	}
	var calls []string
	for i, c := range s.Calls {
		calls = append(calls, w.pieces(i, c)...)
	}
	m := `{"role":"assistant","content":` + quoted(strings.Join(s.Text, ""))
	if s.Refuses {
		m = `{"role":"assistant","content":null,"refusal":` + quoted(strings.Join(s.Text, ""))
	}
	if len(s.Reasoning) > 0 {
		m += `,` + quoted(w.thinks) + `:` + quoted(strings.Join(s.Reasoning, ""))
	}
	if len(calls) > 0 {
		m += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	return `{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":` + m + `},"finish_reason":` +
		quoted(w.reason()) + `}]` + w.counted(s.Usage) + `}`
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
