//go:build long

package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// TestServers are Anthropic's own API with all that it may put into a stream, and
// the servers that speak its messages too.
func TestServers(t *testing.T) {
	styles := map[string]llmtest.Server{}
	for name, style := range servers {
		styles[name] = style.server()
	}
	if n := llmtest.Servers(t, dialect, styles); n < 245 {
		t.Errorf("%d different streams, want 245 at least", n)
	}
}

var servers = map[string]serverStyle{
	"Anthropic":                 {ping: true, thinking: `,"signature":""`, signed: true},
	"Anthropic, web search":     {ping: true, signed: true, before: []string{searchBlock, foundBlock}, stopMore: `,"server_tool_use":{"web_search_requests":1}`},
	"Anthropic, texts apart":    {apart: true, signed: true, pingEach: true},
	"Anthropic, redacted":       {signed: true, before: []string{`{"type":"redacted_thinking","data":"c2ln"}`}, citations: true},
	"Anthropic, overloaded":     {ping: true, signed: true, fails: []string{"event: error", `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, ""}},
	"events of tomorrow":        {unknown: `{"type":"new_thing","index":0,"delta":{"text":"x"}}`, signed: true},
	"CRLF":                      {eol: "\r\n", ping: true, signed: true},
	"CR":                        {eol: "\r", signed: true},
	"no names":                  {unnamed: true, ping: true, signed: true, fails: []string{`data: {"type":"error","error":{"type":"api_error","message":"it is broken"}}`, ""}},
	"comments and a byte mark":  {prelude: "\ufeff: hello\n\n", unnamed: true, unknown: `{"type":"ping"}`},
	"usage at the end alone":    {usageAtEnd: true, thinking: `,"signature":"c2ln"`},
	"usage repeated at the end": {usageTwice: true, signed: true},
	"arguments at the start":    {inputFirst: true, noStops: true},
	"no stops of blocks":        {noStops: true, signed: true, ping: true},
	"no message_stop":           {noEnd: true, signed: true},
	"[DONE]":                    {trailer: "data: [DONE]\n\n", ping: true, fails: []string{`data: {"error":{"message":"it is broken","type":"server_error"}}`, "", "data: [DONE]", ""}},
	"reasons of OpenAI":         {reasons: map[llm.Finish]string{llm.FinishStop: "stop", llm.FinishToolCalls: "tool_calls"}, ping: true, usageAtEnd: true},
	"no stream":                 {whole: true},
}

const (
	searchBlock = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`
	foundBlock  = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"t","url":"https://x"}]}`
)

// A serverStyle writes answers as one server does. The zero one writes no more than
// it has to.
type serverStyle struct {
	eol      string
	prelude  string // written first, as it is
	trailer  string // written last
	unnamed  bool   // events have no names
	ping     bool   // after the start
	pingEach bool   // before each delta
	unknown  string // an event after each delta
	noStops  bool   // blocks are not closed
	noEnd    bool   // no message_stop
	whole    bool   // it does not stream

	before     []string // blocks before all others
	apart      bool     // each piece of a text is a block of its own
	citations  bool     // beside texts
	thinking   string   // fields of the begin of a block that thinks
	signed     bool     // the signature comes as a delta
	inputFirst bool     // the arguments are in the begin of the block

	usageAtEnd bool
	usageTwice bool
	stopMore   string // fields of the last usage
	reasons    map[llm.Finish]string
	fails      []string // lines of an error; empty: an api_error
}

func (y serverStyle) server() llmtest.Server {
	return llmtest.Server{Write: y.write, InOnePiece: y.whole}
}

func (y serverStyle) write(s llmtest.Script) string {
	w := &styleWriter{serverStyle: y, script: s}
	if y.whole {
		return w.message()
	}
	w.b.WriteString(y.prelude)
	usage := w.usage(1)
	if y.usageAtEnd {
		usage = `"input_tokens":0,"output_tokens":0`
	}
	w.event(start(usage))
	if y.ping {
		w.event(`{"type":"ping"}`)
	}
	w.says()
	w.ends()
	return w.b.String()
}

type styleWriter struct {
	serverStyle
	script llmtest.Script
	b      strings.Builder
	blocks int
}

func (w *styleWriter) event(data string) {
	eol := w.eol
	if eol == "" {
		eol = "\n"
	}
	if !w.unnamed {
		name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
		w.b.WriteString("event: " + name + eol)
	}
	w.b.WriteString("data: " + data + eol + eol)
}

// block writes a block with the deltas in it.
func (w *styleWriter) block(begins string, deltas ...string) {
	w.open(begins, deltas...)
	if !w.noStops {
		w.event(done(w.blocks - 1))
	}
}

func (w *styleWriter) open(begins string, deltas ...string) {
	w.event(begin(w.blocks, begins))
	for _, d := range deltas {
		if w.pingEach {
			w.event(`{"type":"ping"}`)
		}
		w.event(delta(w.blocks, d))
		if w.unknown != "" {
			w.event(w.unknown)
		}
	}
	w.blocks++
}

func (w *styleWriter) says() {
	for _, b := range w.before {
		w.block(b)
	}
	if said := w.script.Reasoning; len(said) > 0 {
		w.block(`{"type":"thinking","thinking":""`+w.thinking+`}`, w.thoughts(said)...)
	}
	var texts []string
	for _, t := range w.script.Text {
		texts = append(texts, `{"type":"text_delta","text":`+quoted(t)+`}`)
		if w.citations {
			texts = append(texts, `{"type":"citations_delta","citation":{"type":"char_location","cited_text":"x"}}`)
		}
	}
	for w.apart && len(texts) > 0 {
		w.block(textBlock, texts[0])
		texts = texts[1:]
	}
	if len(texts) > 0 {
		w.block(textBlock, texts...)
	}
	for i, c := range w.script.Calls {
		w.call(i, c)
	}
}

func (w *styleWriter) thoughts(said []string) []string {
	var deltas []string
	for _, t := range said {
		deltas = append(deltas, `{"type":"thinking_delta","thinking":`+quoted(t)+`}`)
	}
	if w.signed {
		deltas = append(deltas, `{"type":"signature_delta","signature":"c2"}`, `{"type":"signature_delta","signature":"ln"}`)
	}
	return deltas
}

func (w *styleWriter) call(i int, c llmtest.ScriptCall) {
	all := strings.Join(c.Args, "")
	isWhole := json.Valid([]byte(all))
	begins := fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, i, c.Name)
	if w.inputFirst && isWhole {
		w.block(strings.Replace(begins, "{}", all, 1))
		return
	}
	deltas := []string{`{"type":"input_json_delta","partial_json":""}`}
	for _, a := range c.Args {
		deltas = append(deltas, `{"type":"input_json_delta","partial_json":`+quoted(a)+`}`)
	}
	if isWhole {
		w.block(begins, deltas...)
		return
	}
	w.open(begins, deltas...)
}

func (w *styleWriter) ends() {
	s := w.script
	switch {
	case s.Fails && len(w.fails) == 0:
		w.event(`{"type":"error","error":{"type":"api_error","message":"it is broken"}}`)
	case s.Fails:
		w.b.WriteString(strings.Join(w.fails, "\n") + "\n")
	case s.Finish == "":
	default:
		usage := fmt.Sprintf(`"output_tokens":%d`, s.Usage.Output)
		if w.usageAtEnd || w.usageTwice {
			usage = w.usage(s.Usage.Output)
		}
		w.event(fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{%s%s}}`, w.reason(), usage, w.stopMore))
		if !w.noEnd {
			w.event(end)
		}
		w.b.WriteString(w.trailer)
	}
}

func (w *styleWriter) usage(output int64) string {
	u := w.script.Usage
	return fmt.Sprintf(`"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d`, u.Input-u.CacheRead, u.CacheRead, output)
}

func (w *styleWriter) reason() string {
	if r := w.reasons[w.script.Finish]; r != "" {
		return r
	}
	return map[llm.Finish]string{
		llm.FinishStop: "end_turn", llm.FinishToolCalls: "tool_use", llm.FinishLength: "max_tokens", llm.FinishContentFilter: "refusal",
	}[w.script.Finish]
}

// message is the answer of a server that does not stream.
func (w *styleWriter) message() string {
	s := w.script
	if s.Finish == "" {
		return ""
	}
	var blocks []string
	if len(s.Reasoning) > 0 {
		blocks = append(blocks, `{"type":"thinking","thinking":`+quoted(strings.Join(s.Reasoning, ""))+`,"signature":"c2ln"}`)
	}
	if len(s.Text) > 0 {
		blocks = append(blocks, `{"type":"text","text":`+quoted(strings.Join(s.Text, ""))+`}`)
	}
	for i, c := range s.Calls {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":%s}`, i, c.Name, strings.Join(c.Args, "")))
	}
	return fmt.Sprintf(`{"id":"msg_1","type":"message","content":[%s],"stop_reason":%q,"usage":{%s}}`, strings.Join(blocks, ","), w.reason(), w.usage(s.Usage.Output))
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
