//go:build long

package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
)

// What a model asks of another agent or of a person and NATS cannot carry is an error result of
// the call, and the session goes on.
func TestTooLargeToAsk(t *testing.T) {
	t.Parallel()
	const over = 1<<20 + 1000
	for name, tt := range map[string]struct {
		wait  tools.Wait
		trace int
		fits  bool
	}{
		"a task":                        {wait: tools.Wait{To: "ops", Prompt: strings.Repeat("z", over)}},
		"a task that grows in JSON":     {wait: tools.Wait{To: "ops", Prompt: strings.Repeat("\x01", 200_000)}},
		"the context of a task":         {wait: tools.Wait{To: "ops", Prompt: "do it", Context: json.RawMessage(`"` + strings.Repeat("z", over) + `"`)}},
		"a task in a long trace":        {wait: tools.Wait{To: "ops", Prompt: strings.Repeat("z", 1_000_000)}, trace: 60_000},
		"a task that fits":              {wait: tools.Wait{To: "ops", Prompt: strings.Repeat("z", 1_000_000)}, fits: true},
		"a question":                    {wait: tools.Wait{Prompt: strings.Repeat("z", over)}},
		"the options of a question":     {wait: tools.Wait{Prompt: "Which?", Options: []string{"a", strings.Repeat("z", over)}}},
		"the default of a question":     {wait: tools.Wait{Prompt: "Which?", Default: strings.Repeat("z", over)}},
		"options beside a long trace":   {wait: tools.Wait{Prompt: "Which?", Options: []string{"a", strings.Repeat("z", 1_000_000)}}, trace: 60_000},
		"a default beside a long trace": {wait: tools.Wait{Prompt: "Which?", Default: strings.Repeat("z", 1_000_000)}, trace: 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := asking(tt.wait)
			w := newWorld(t,
				bot("ana", script(`rules: [{when: hello, text: hi}, {after_tool: "*", text: "It says: ${result}"}, {tool_calls: [{name: ask_human, args: {}}]}]`), has(tool), asks("ops")),
				bot("ops", script(`rules: [{text: done}]`)))
			w.sayIn("ana", bus.Inbound{ID: "1", Text: "go"}, tt.trace)
			got := w.hear()
			const why = "It says: this is too large to be sent"
			if tt.fits && got.Text != "It says: done" || !tt.fits && !strings.HasPrefix(got.Text, why) {
				t.Fatalf("heard %s %.300q", got.Kind, got.Text)
			}
			w.say("ana", bus.Inbound{ID: "2", Text: "hello"})
			w.expect("reply", "hi")
			w.settled()
		})
	}
}

// sayIn is say of a message whose trace has a state of so many bytes.
func (w *world) sayIn(channel string, in bus.Inbound, state int) {
	w.t.Helper()
	in.From = "ana"
	data, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	msg := nats.NewMsg("plugin.inbound." + channel)
	msg.Data = data
	msg.Header["traceparent"], msg.Header["tracestate"] = []string{parent}, []string{"a=" + strings.Repeat("b", state)}
	if err := w.bus.NC.PublishMsg(msg); err != nil {
		w.t.Fatal(err)
	}
}

// A run whose question NATS refuses for good, such as one that an older host has logged, ends
// with an error, and the session goes on.
func TestQuestionThatNATSRefuses(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]tools.Wait{
		"a task":     {To: "ops", Prompt: strings.Repeat("z", 1<<20)},
		"a question": {Prompt: "Which?", Options: []string{strings.Repeat("z", 1<<20)}},
		"a deadline": {Prompt: "Which?", Default: strings.Repeat("z", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := bot("ops", script(`rules: [{text: done}]`))
			ana := bot("ana", script(`rules: [{when: hello, text: hi}, {tool_calls: [{name: ask_human, args: {}}, {name: pay, args: {}}]}]`), has(asking(wait), tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")}), asks("ops"))
			w := newWorld(t)
			w.stop()
			w.change = func(opt *engine.Options) { opt.MaxPayload = 8 << 20 } // more than the server takes
			w.start(ana, ops)
			w.say("ana", bus.Inbound{ID: "1", Text: "go"})
			out := w.hear()
			if name == "a deadline" { // the question itself is on its way already
				out = w.hear()
			}
			if want := "Something went wrong on my side. Please try again."; out.Kind != "error" || out.Text != want {
				t.Fatalf("heard %s %.300q, want %q", out.Kind, out.Text, want)
			}
			w.say("ana", bus.Inbound{ID: "2", Text: "hello"})
			w.expect("reply", "hi")
			w.settled()
		})
	}
}

// A reply leaves room for what is carried in its headers: what has none goes to the object store,
// and the result of a task is shortened.
func TestReplyInALongTrace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ state, text int }{
		"within the room of headers": {60_000, 970_000},
		"beyond it":                  {60_000, 990_000},
		"far beyond it":              {60_000, 1_040_000},
		"a trace that is dropped":    {62_000, 970_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(`rules: [{text: "${text}${text}"}]`)))
			results := w.results("told")
			text := strings.Repeat("y", tt.text/2)
			w.sayIn("ana", bus.Inbound{ID: "1", Text: text}, tt.state)
			out := w.hear()
			if out.Kind != "reply" || !out.Final || len(out.Text) != tt.text && len(out.Media) != 1 {
				t.Fatalf("heard %s %.300q with %d bytes", out.Kind, out.Text, len(out.Text))
			}
			if short := len(out.Media) > 0; short != (name == "beyond it" || name == "far beyond it") {
				t.Errorf("shortened: %t", short)
			}
			task, err := bus.NewMessage("agent.route.ana", bus.Route{ID: "t1", Kind: bus.RouteDelegate, ReplyTo: "told", CorrelationID: "c1", Text: text})
			if err != nil {
				t.Fatal(err)
			}
			task.Header["traceparent"], task.Header["tracestate"] = []string{parent}, []string{strings.Repeat("b", tt.state)}
			w.sendMsg(task)
			if got := w.result(results); got.Text == "" || got.Error != nil {
				t.Errorf("the result has %d bytes, error %v", len(got.Text), got.Error)
			}
			w.settled()
			if n := w.letters("ana"); n != 0 {
				t.Errorf("%d dead letters", n)
			}
		})
	}
}

// A message whose headers have no room for those that are added to it is answered by the agent
// itself, and its session goes on.
func TestHeadersTooLongForAPartition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(4))
	w.sayIn("ana", bus.Inbound{ID: "1", Text: "long"}, 65_350)
	w.expect("reply", "long")
	w.say("ana", bus.Inbound{ID: "2", Text: "hello"})
	w.expect("reply", "hello")
	w.settled()
}

// What is allowed for longer may be a command of any length.
func TestLongCommandIsAllowedForLonger(t *testing.T) {
	t.Parallel()
	line := `echo "` + strings.Repeat("z", 1<<20) // its end is missing: the line itself is what is allowed
	tool := tools.Tool{Name: "pay", Schema: anything, Commands: func(json.RawMessage) string { return line }, Run: text("paid")}
	w := newWorld(t, bot("ana", script(paying), has(tool)))
	w.say("ana", bus.Inbound{ID: "1", Text: "pay"})
	if out := w.hear(); out.Kind != "approval" {
		t.Fatalf("heard %s %.300q", out.Kind, out.Text)
	}
	w.say("ana", bus.Inbound{ID: "2", Text: "approve session"})
	w.expect("reply", "It says: paid")
	w.say("ana", bus.Inbound{ID: "3", Text: "pay"})
	w.expect("reply", "It says: paid")
	w.settled()
}
