package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"
	"agenthost/llm/scripted"

	"github.com/google/go-cmp/cmp"
)

func TestSuite(t *testing.T) {
	provider := func(script string) func(testing.TB) llm.Provider {
		return func(t testing.TB) llm.Provider { return parse(t, script) }
	}
	llmtest.Run(t, llmtest.Suite{
		Answers: provider(`rules: [{chunks: ["Hi ", "there."]}]`),
		Text:    "Hi there.",
		Stalls:  provider(`rules: [{chunks: [a, b], delay: 1ms}]`),
		Breaks:  provider(`rules: [{chunks: [a, b], cut: true}]`),
	})
}

func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		rule   string
		want   []llm.Part
		usage  llm.Usage
		finish llm.Finish
	}{
		"text":        {`{text: "You said ${text}."}`, text("You said Hello you."), llm.Usage{}, "stop"},
		"empty text":  {`{text: ""}`, nil, llm.Usage{}, "stop"},
		"chunks":      {`{chunks: [a, "${text}"]}`, text("aHello you"), llm.Usage{}, "stop"},
		"substring":   {`{when: hELLO, text: a}`, text("a"), llm.Usage{}, "stop"},
		"exact":       {`{is: Hello you, text: a}`, text("a"), llm.Usage{}, "stop"},
		"expression":  {`{match: "^H.*u$", text: a}`, text("a"), llm.Usage{}, "stop"},
		"all at once": {`{when: ello, is: Hello you, match: you, text: a}`, text("a"), llm.Usage{}, "stop"},
		"usage": {
			`{text: a, usage: {input: 1, cache_read: 2, cache_write: 3, output: 4, reasoning: 5}, finish: length}`,
			text("a"),
			llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4, Reasoning: 5},
			"length",
		},
		"reasoning": {
			`{reasoning: "hm, ${text}", text: a}`,
			append([]llm.Part{{Type: llm.Reasoning, Text: "hm, Hello you"}}, text("a")...),
			llm.Usage{},
			"stop",
		},
		"tool calls": {
			`{tool_calls: [{name: f, args: {q: "${text}", n: [1, "${text}"]}}, {name: g, id: x}]}`,
			[]llm.Part{
				{Type: llm.ToolCall, Call: "call_1_0", Name: "f", Args: []byte(`{"n":[1,"Hello you"],"q":"Hello you"}`)},
				{Type: llm.ToolCall, Call: "x", Name: "g", Args: []byte(`{}`)},
			},
			llm.Usage{},
			"tool_calls",
		},
		"arguments that are no JSON": {
			`{tool_calls: [{name: f, args: '{"q": "${text}'}]}`,
			[]llm.Part{{Type: llm.ToolCall, Call: "call_1_0", Name: "f", Text: `{"q": "Hello you`, Error: true}},
			llm.Usage{},
			"tool_calls",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, parse(t, "rules: ["+tt.rule+"]"), llm.UserText("Hello you"))
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if diff := cmp.Diff(tt.want, a.Message.Parts); diff != "" {
				t.Error(diff)
			}
			if a.Usage != tt.usage || a.Finish != tt.finish {
				t.Errorf("got %+v %q, want %+v %q", a.Usage, a.Finish, tt.usage, tt.finish)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		rule string
		said string
		want llm.Error
	}{
		"by status": {
			`{error: {status: 429, retry_after: 2s, message: "slow down, ${text}"}}`, "",
			llm.Error{Code: llm.CodeProviderRateLimit, Status: 429, RetryAfter: 2 * time.Second, Transient: true, Err: errors.New("slow down, hi")},
		},
		"by code": {
			`{error: {code: provider_auth}}`, "",
			llm.Error{Code: llm.CodeProviderAuth, Err: errors.New("scripted error")},
		},
		"neither": {
			`{error: {transient: false}}`, "",
			llm.Error{Code: llm.CodeProviderUnavailable, Err: errors.New("scripted error")},
		},
		"too long": {
			`{error: {status: 400, too_long: true}}`, "",
			llm.Error{Code: llm.CodeValidation, Status: 400, TooLong: true, Err: errors.New("scripted error")},
		},
		"after some text": {
			`{chunks: [a, b], usage: {output: 2}, error: {code: provider_unavailable}}`, "ab",
			llm.Error{Code: llm.CodeProviderUnavailable, Transient: true, Err: errors.New("scripted error")},
		},
		"cut": {
			`{text: a, cut: true}`, "a",
			llm.Error{Code: llm.CodeProviderUnavailable, Transient: true, Err: errors.New("stream was cut")},
		},
		"no rule fits": {
			`{is: other, text: a}`, "",
			llm.Error{Code: llm.CodeValidation, Err: errors.New(`no rule fits the text "hi"`)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, parse(t, "rules: ["+tt.rule+"]"), llm.UserText("hi"))
			var e *llm.Error
			if !errors.As(a.Err, &e) {
				t.Fatalf("got %v, want an *llm.Error", a.Err)
			}
			if diff := cmp.Diff(tt.want, *e, cmp.Comparer(sameText)); diff != "" {
				t.Error(diff)
			}
			if got := a.Message.Text(); got != tt.said {
				t.Errorf("said %q, want %q", got, tt.said)
			}
			if strings.Contains(tt.rule, "usage") && a.Usage.Output != 2 {
				t.Errorf("usage before the error is lost: %+v", a.Usage)
			}
		})
	}
}

func TestToolRound(t *testing.T) {
	p := parse(t, `
rules:
  - after_tool: clock
    text: "It is ${result}."
  - after_tool: "*"
    when: trains
    text: "Trains: ${result}."
  - when: o
    tool_calls: [{name: clock}]
`)
	question := llm.UserText("what o'clock?")
	called := read(t, p, question).Message
	id := called.Calls()[0].Call
	result := func(name, call, text string) llm.Message {
		return llm.Message{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Call: call, Name: name, Text: text}}}
	}
	tests := map[string]struct {
		messages []llm.Message
		want     string
	}{
		"named result":        {[]llm.Message{question, called, result("clock", id, "noon")}, "It is noon."},
		"result without name": {[]llm.Message{question, called, result("", id, "noon")}, "It is noon."},
		"one of two":          {[]llm.Message{question, called, result("clock", id, "noon"), result("x", "y", "z")}, "It is noon."},
		"any tool":            {[]llm.Message{llm.UserText("trains"), result("times", "1", "none")}, "Trains: none."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if a := read(t, p, tt.messages...); a.Message.Text() != tt.want {
				t.Errorf("got %q (%v), want %q", a.Message.Text(), a.Err, tt.want)
			}
		})
	}

	t.Run("no rule for it", func(t *testing.T) {
		err := read(t, p, question, result("other", "1", "z")).Err
		if want := `no rule fits the result of tool "other" to the text "what o'clock?"`; !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("steered meanwhile", func(t *testing.T) {
		again := read(t, p, called, result("clock", id, "noon"), question)
		if calls := again.Message.Calls(); len(calls) != 1 || calls[0].Call == id {
			t.Errorf("got %+v, want a call with a new id", calls)
		}
	})
	t.Run("id taken", func(t *testing.T) {
		again := read(t, p, question, called, question)
		kept := read(t, p, again.Message, question, question).Message
		if kept.Calls()[0].Call == again.Message.Calls()[0].Call {
			t.Errorf("two calls have the id %q", kept.Calls()[0].Call)
		}
	})
}

func TestTimesAreShared(t *testing.T) {
	p := parse(t, `rules: [{times: 5, text: a}, {text: b}]`)
	var got atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if read(t, p, llm.UserText("hi")).Message.Text() == "a" {
				got.Add(1)
			}
		})
	}
	wg.Wait()
	if got.Load() != 5 {
		t.Errorf("rule was used %d times, want 5", got.Load())
	}
}

func TestDelay(t *testing.T) {
	tests := map[string]struct {
		rule string
		want time.Duration
	}{
		"chunks": {`{delay: 1m, chunks: [a, b, c]}`, 3 * time.Minute},
		"error":  {`{delay: 1m, error: {status: 500}}`, time.Minute},
		"cut":    {`{delay: 1m, text: a, cut: true}`, 2 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				read(t, parse(t, "rules: ["+tt.rule+"]"), llm.UserText("hi"))
				if got := time.Since(start); got != tt.want {
					t.Errorf("took %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestDelayEndsWithContext(t *testing.T) {
	for _, rule := range []string{`{delay: 1h, text: a}`, `{delay: 1h, error: {status: 500}}`} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			a := llmtest.Read(parse(t, "rules: ["+rule+"]").Stream(ctx, llmtest.Request()))
			if e := llm.AsError(a.Err); e == nil || e.Code != llm.CodeRunTimeout || time.Since(start) != time.Minute {
				t.Errorf("got %v after %v, want run_timeout after a minute", a.Err, time.Since(start))
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := map[string]struct{ script, want string }{
		"empty":              {"", "script has no rules"},
		"no rules":           {"rules: []", "script has no rules"},
		"not YAML":           {"rules: [", "yaml: line 1"},
		"unknown key":        {"rules:\n  - text: a\n    tetx: b", "line 3: field tetx not found"},
		"unknown key on top": {"rules: [{text: a}]\nrule: 1", "line 2: field rule not found"},
		"bad duration":       {"rules: [{text: a, delay: soon}]", "line 1: cannot unmarshal"},
		"two documents":      {"rules: [{text: a}]\n---\nrules: []", "more than one document"},
		"null rule":          {"rules:\n  - text: a\n  -", "line 3: rule is empty"},
		"says nothing":       {"rules:\n  - text: a\n  - when: b", "line 3: rule answers nothing"},
		"text and chunks":    {"rules: [{text: a, chunks: [b]}]", "line 1: text and chunks"},
		"error and cut":      {"rules: [{cut: true, error: {status: 500}}]", "error and cut"},
		"finish and cut":     {"rules: [{cut: true, finish: stop}]", "has no finish"},
		"bad finish":         {"rules: [{finish: done}]", `finish "done": want one of [stop`},
		"bad code":           {"rules: [{error: {code: oops}}]", `code "oops": want one of [validation`},
		"negative times":     {"rules: [{times: -1, text: a}]", "not negative"},
		"bad expression":     {"rules: [{match: '(', text: a}]", "line 1: error parsing regexp"},
		"call without name":  {"rules: [{tool_calls: [{id: x}]}]", "a tool call has no name"},
		"list of arguments":  {"rules: [{tool_calls: [{name: f, args: [1]}]}]", "line 1: cannot unmarshal"},
		"no JSON arguments":  {"rules:\n  - tool_calls: [{name: f, args: {a: .nan}}]", "line 2: arguments are not JSON"},
		"media, no mime":     {"rules: [{media: [{base64: YQ==}]}]", "line 1: media has no mime"},
		"media, two ways":    {"rules: [{media: [{mime: a/b, base64: YQ==, file: x}]}]", "either base64 or file"},
		"media, no base64":   {"rules: [{media: [{mime: a/b, base64: '!'}]}]", "media is no base64"},
		"media, no file":     {"rules: [{media: [{mime: a/b, file: /none/here}]}]", "no such file"},
		"two at once":        {"rules:\n  - finish: x\n  - times: -1", "line 2: finish \"x\": want one of [stop length tool_calls content_filter]\nline 3: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := scripted.Parse([]byte(tt.script))
			if p != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p, err := scripted.Load(write("good.yaml", "rules: [{text: a}]"))
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, p, llm.UserText("hi")).Message.Text(); got != "a" {
		t.Errorf("got %q, want %q", got, "a")
	}
	write("a.png", "content")
	p, err = scripted.Load(write("media.yaml", "rules: [{media: [{mime: image/png, name: a, file: a.png}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	made := read(t, p, llm.UserText("draw")).Message.Media()
	if want := []*llm.Media{{MIME: "image/png", Name: "a", Data: []byte("content")}}; !cmp.Equal(made, want) {
		t.Errorf("got %+v, want %+v", made, want)
	}
	if _, err := scripted.Load(write("bad.yaml", "x: 1")); err == nil || !strings.Contains(err.Error(), `bad.yaml": line 1:`) {
		t.Errorf("got %v, want the file and the line", err)
	}
	if _, err := scripted.Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want a missing file", err)
	}
}

func Example() {
	p, err := scripted.Parse([]byte(`
rules:
  - after_tool: weather
    text: "The report says: ${result}"
  - when: weather
    tool_calls:
      - {name: weather, args: {city: Paris}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	messages := []llm.Message{llm.UserText("How is the weather?")}
	for range 2 {
		var b llm.Builder
		for d, err := range p.Stream(context.Background(), llm.Request{Messages: messages}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			b.Add(d)
		}
		answer := b.Message()
		fmt.Printf("%s %q\n", b.Finish(), answer.Text())
		messages = append(messages, answer)
		for _, c := range answer.Calls() {
			fmt.Println(c.Name, string(c.Args))
			result := llm.Part{Type: llm.ToolResult, Call: c.Call, Name: c.Name, Text: "rain"}
			messages = append(messages, llm.Message{Role: llm.Tool, Parts: []llm.Part{result}})
		}
	}
	// Output:
	// tool_calls ""
	// weather {"city":"Paris"}
	// stop "The report says: rain"
}

func parse(t testing.TB, script string) *scripted.Provider {
	t.Helper()
	p, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t testing.TB, p *scripted.Provider, messages ...llm.Message) llmtest.Answer {
	t.Helper()
	a := llmtest.Read(p.Stream(t.Context(), llm.Request{Messages: messages}))
	if a.Fault != nil {
		t.Error(a.Fault)
	}
	return a
}

func text(s string) []llm.Part { return []llm.Part{{Type: llm.Text, Text: s}} }

func sameText(a, b error) bool { return a.Error() == b.Error() }
