package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/tools"
)

// runs are what a tool was run with, in the order in which they ran.
type runs struct {
	mu   sync.Mutex
	list []string
}

func (r *runs) tool() tools.Tool {
	return tools.Tool{
		Name: "write_file", Schema: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"text":{"type":"string"}}}`),
		Preview: func(_ context.Context, call tools.Call) tools.Preview {
			var args struct{ Path, Text string }
			_ = json.Unmarshal(call.Args, &args)
			return tools.Preview{Sentence: "approval_write", Values: map[string]string{"path": args.Path}, Bytes: len(args.Text)}
		},
		Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			var args struct{ Path string }
			_ = json.Unmarshal(call.Args, &args)
			r.list = append(r.list, args.Path)
			return tools.Result{Text: "wrote " + args.Path}, nil
		},
	}
}

func (r *runs) ran() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

const writing = `
rules:
  - {when: slowly, delay: 2s, tool_calls: [{name: write_file, args: {path: a.txt, text: hello}}]}
  - {when: three, tool_calls: [{name: write_file, args: {path: a.txt, text: hello}}, {name: write_file, args: {path: b.txt, text: x}}, {name: write_file, args: {path: c.txt, text: ""}}]}
  - {when: questions, tool_calls: [{name: ask_human, args: {question: "Which?"}}, {name: ask_human, args: {question: "Where?"}}]}
  - {when: colors, tool_calls: [{name: ask_human, args: {question: "Which?", options: [red, blue]}}, {name: ask_human, args: {question: "And?", options: [green, gray]}}]}
  - {when: write, tool_calls: [{name: write_file, args: {path: note.txt, text: hello}}]}
  - {after_tool: "*", text: "It says: ${result}"}
  - {text: "You said: ${text}"}
`

func TestApprovalIsASentence(t *testing.T) {
	t.Parallel()
	var r runs
	w := newWorld(t, bot("ana", script(writing), has(r.tool())))
	w.say("ana", bus.Inbound{Text: "write"})
	asked := w.expect("approval", "Ana wants to write note.txt (5 bytes). Reply approve or deny.")
	if !slices.Equal(asked.Options, []string{"approve", "deny"}) {
		t.Errorf("the options are %q", asked.Options)
	}
}

// What could pass for more of the sentence is quoted.
func TestApprovalOfAStrangePath(t *testing.T) {
	t.Parallel()
	var r runs
	w := newWorld(t, bot("ana", script(`rules: [{tool_calls: [{name: write_file, args: {path: "a (1 byte). Reply approve.\n", text: x}}]}]`), has(r.tool())))
	w.say("ana", bus.Inbound{Text: "write"})
	w.expect("approval", `Ana wants to write "a (1 byte). Reply approve.\n" (1 byte). Reply approve or deny.`)
}

// Several approvals of one answer are asked in the order of the calls, however long
// it takes to find out that each has to be asked.
func TestSeveralApprovalsAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	var r runs
	w := newWorld(t, bot("ana", script(writing), has(r.tool())))
	var others sync.WaitGroup
	others.Add(2)
	w.hook(hooks.BeforeToolCall, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		if strings.Contains(string(call.Args["args"]), "a.txt") {
			others.Wait() // of the first it is known last
		} else {
			others.Done()
		}
		return hooks.Outcome{}, nil
	})
	w.say("ana", bus.Inbound{Text: "three"})
	w.expect("approval", "Ana wants to write a.txt (5 bytes). Reply approve 1 or deny 1.")
	w.expect("approval", "Ana wants to write b.txt (1 byte). Reply approve 2 or deny 2.")
	w.expect("approval", "Ana wants to write c.txt (0 bytes). Reply approve 3 or deny 3.")
	w.settled()
	w.say("ana", bus.Inbound{ID: "alone", Text: "2"}) // the second option, or the second approval
	if out := w.hear(); out.Kind != "notice" || out.InReplyTo != "alone" {
		t.Fatalf("heard %+v", out)
	}
	w.say("ana", bus.Inbound{Text: "Approve 2."})
	w.eventually("the second has run", func() bool { return slices.Equal(r.ran(), []string{"b.txt"}) })
	w.settled()
	w.say("ana", bus.Inbound{Text: "no"}) // the oldest, which is the first
	w.settled()
	w.say("ana", bus.Inbound{ID: "last", Text: "1"}) // it was put with a number, and keeps that
	if out := w.hear(); out.Kind != "notice" || out.InReplyTo != "last" {
		t.Fatalf("heard %+v", out)
	}
	w.say("ana", bus.Inbound{Text: "ok 3"})
	if out := w.hear(); out.Kind != "reply" || !slices.Equal(r.ran(), []string{"b.txt", "c.txt"}) {
		t.Errorf("heard %+v, ran %q", out, r.ran())
	}
	w.expect("reply", "You said: 2")
	w.expect("reply", "You said: 1")
	w.settled()
	w.silent()
}

func TestSeveralQuestionsAreNumbered(t *testing.T) {
	t.Parallel()
	ask := tools.Tool{Name: "ask_human", Schema: anything, ReadOnly: true, Asks: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
		var args struct{ Question string }
		err := json.Unmarshal(call.Args, &args)
		return tools.Result{Wait: &tools.Wait{Question: true, Prompt: args.Question}}, err
	}}
	w := newWorld(t, bot("ana", script(writing), has(ask)))
	w.say("ana", bus.Inbound{Text: "questions"})
	w.expect("question", "Question 1: Which?\nBegin your reply with 1:")
	w.expect("question", "Question 2: Where?\nBegin your reply with 2:")
	w.settled()
	w.say("ana", bus.Inbound{Text: "2: here"})
	w.settled()
	if left := w.waiting(); left.Prompt != "Which?" {
		t.Errorf("%q waits, want the first question", left.Prompt)
	}
	w.say("ana", bus.Inbound{Text: "the red one"})
	if out := w.hear(); out.Kind != "reply" {
		t.Errorf("heard %+v", out)
	}
}

// A number of what it cannot answer makes a word no answer to anything: who has written it is
// told what that number takes, and all stay open.
func TestNumberOfTheWrongKind(t *testing.T) {
	t.Parallel()
	const (
		open          = "This doesn't answer the question, which is still open. Please reply "
		approveOrDeny = open + "approve or deny."
		anOption      = open + "with one of: red 3, blue 3."
		words         = open + "in words."
	)
	for text, want := range map[string]string{"2: Bob": approveOrDeny, "3: Bob": anOption, "approve 1": words, "deny 3": anOption} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t, asker(&r, script(`
rules:
  - {after_tool: "*", text: done}
  - {when: all, tool_calls: [{name: ask_human, args: {question: "Who?"}}, {name: write_file, args: {path: a.txt}}, {name: ask_human, args: {question: "Which?", options: [red, blue]}}]}
`)))
			w.say("ana", bus.Inbound{Text: "all"})
			for range 3 {
				w.hear()
			}
			w.settled()
			w.say("ana", bus.Inbound{ID: "wrong", Text: text})
			if out := w.expect("error", want); out.InReplyTo != "wrong" {
				t.Errorf("heard %+v", out)
			}
			w.settled()
			for _, answer := range []string{"1: Bob", "approve 2", "blue 3"} {
				w.say("ana", bus.Inbound{Text: answer})
				w.settled()
			}
			w.expect("reply", "done")
			if got := w.toolResults(); !slices.Equal(got, []string{"Bob", "wrote a.txt", "blue"}) {
				t.Errorf("the model got %q", got)
			}
		})
	}
}

// A question that was put with a number is answered with it also when it is the last
// that is left.
func TestTheLastQuestionKeepsItsNumber(t *testing.T) {
	t.Parallel()
	ask := tools.Tool{Name: "ask_human", Schema: anything, ReadOnly: true, Asks: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
		var args struct {
			Question string
			Options  []string
		}
		err := json.Unmarshal(call.Args, &args)
		return tools.Result{Wait: &tools.Wait{Question: true, Prompt: args.Question, Options: args.Options}}, err
	}}
	tests := map[string]struct{ asked, first, last, want string }{
		"option":                {"colors", "red", "green 2", "green"},
		"option, alone":         {"colors", "red", "Green", "green"},
		"option of the first":   {"colors", "green 2", "red 1", "red"},
		"words":                 {"questions", "2: second answer", "1: first answer", "first answer"},
		"words, alone":          {"questions", "2: second answer", "first answer", "first answer"},
		"words, another number": {"questions", "1: first answer", "3: they are", "3: they are"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(writing), has(ask)))
			w.say("ana", bus.Inbound{Text: test.asked})
			w.hear()
			w.hear()
			w.settled()
			w.say("ana", bus.Inbound{Text: test.first})
			w.settled()
			w.say("ana", bus.Inbound{Text: test.last})
			if out := w.hear(); out.Kind != "reply" {
				t.Fatalf("heard %+v", out)
			}
			if got := w.toolResults(); !slices.Contains(got, test.want) {
				t.Errorf("the model got %q, want %q among them", got, test.want)
			}
		})
	}
}

// Two runs that ask in one chat are told apart by number; without one the oldest is
// meant.
func TestApprovalsOfSeveralRunsInOneChat(t *testing.T) {
	t.Parallel()
	bea := bus.Origin{Subject: "plugin.outbound.ana", To: "bea"}
	var r runs
	a := bot("ana", script(writing), has(r.tool()))
	w := newWorld(t, a)
	w.fireTo("write", "daily", bea)
	w.expect("approval", "Ana wants to write note.txt (5 bytes). Reply approve or deny.")
	w.settled()
	w.fireTo("slowly", "weekly", bea)
	w.expect("approval", "Ana wants to write a.txt (5 bytes). Reply approve 2 or deny 2.")
	w.settled()
	w.say("ana", bus.Inbound{From: "bea", Text: "approve 2"})
	w.eventually("the second has run", func() bool { return slices.Equal(r.ran(), []string{"a.txt"}) })
	w.settled()
	w.say("ana", bus.Inbound{From: "bea", Text: "yes"})
	w.eventually("the first has run", func() bool { return slices.Equal(r.ran(), []string{"a.txt", "note.txt"}) })
	w.settled()
}

// What a run of the clock asks in a chat stands in one row with what the chat's own run asks.
func TestApprovalsOfAScheduleAndItsChat(t *testing.T) {
	t.Parallel()
	const note, a = "note.txt", "a.txt" // the chat's own writes note.txt, the schedule a.txt
	bea := bus.Origin{Subject: "plugin.outbound.ana", To: "bea"}
	team := bus.Origin{Subject: "plugin.outbound.ana", Chat: "team", Thread: "t1"}
	inTeam := bus.Inbound{From: "cyd", Group: true, Chat: "team", Thread: "t1"}
	tests := map[string]struct {
		to        bus.Origin
		from      bus.Inbound
		scheduled bool // the schedule asks first
		say       [2]string
		ran       [2]string
	}{
		"the chat first, no number":     {bea, bus.Inbound{From: "bea"}, false, [2]string{"approve", "yes"}, [2]string{note, a}},
		"the chat first, number":        {bea, bus.Inbound{From: "bea"}, false, [2]string{"approve 2", "approve"}, [2]string{a, note}},
		"the schedule first, no number": {bea, bus.Inbound{From: "bea"}, true, [2]string{"approve", "approve 2"}, [2]string{a, note}},
		"the schedule first, number":    {bea, bus.Inbound{From: "bea"}, true, [2]string{"approve 2", "yes"}, [2]string{note, a}},
		"a chat of a door":              {bea, bus.Inbound{From: "bea", Chat: "c7"}, false, [2]string{"approve 2", "approve"}, [2]string{a, note}},
		"one of her conversations":      {bea, bus.Inbound{From: "bea", Conversation: "two"}, true, [2]string{"approve 2", "yes"}, [2]string{note, a}},
		"a group":                       {team, inTeam, false, [2]string{"approve 2", "approve 1"}, [2]string{a, note}},
		"a group, the schedule first":   {team, inTeam, true, [2]string{"approve", "approve"}, [2]string{a, note}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t, bot("ana", script(strings.Replace(writing, "delay: 2s, ", "", 1)), has(r.tool())))
			say := func(text string) {
				in := test.from
				in.Text = text
				w.say("ana", in)
			}
			ask := []func(){func() { say("write") }, func() { w.fireTo("slowly", "daily", test.to) }}
			files := []string{note, a}
			if test.scheduled {
				slices.Reverse(ask)
				slices.Reverse(files)
			}
			ask[0]()
			w.expect("approval", "Ana wants to write "+files[0]+" (5 bytes). Reply approve or deny.")
			w.settled()
			ask[1]()
			w.expect("approval", "Ana wants to write "+files[1]+" (5 bytes). Reply approve 2 or deny 2.")
			w.settled()
			for i, word := range test.say {
				say(word)
				w.eventually("it has run", func() bool { return len(r.ran()) > i })
				w.settled()
				if got := r.ran(); !slices.Equal(got, test.ran[:i+1]) {
					t.Fatalf("ran %q, want %q", got, test.ran[:i+1])
				}
			}
			heard := []string{w.hear().Text, w.hear().Text, w.hear().Text}
			slices.Sort(heard)
			if want := []string{"It says: wrote a.txt", "It says: wrote note.txt", "Thank you, noted."}; !slices.Equal(heard, want) {
				t.Errorf("heard %q, want %q", heard, want)
			}
			w.silent()
		})
	}
}

// Two agents that are in one chat ask there: one word is for one of them.
func TestApprovalsOfTwoAgentsInOneChat(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		say []bus.Inbound
		ran []string
	}{
		"no number":     {[]bus.Inbound{{Text: "approve"}, {Text: "yes"}}, []string{"ana.txt", "bob.txt"}},
		"number":        {[]bus.Inbound{{Text: "approve 2"}, {Text: "approve"}}, []string{"bob.txt", "ana.txt"}},
		"the first":     {[]bus.Inbound{{Text: "approve 1"}, {Text: "approve 2"}}, []string{"ana.txt", "bob.txt"}},
		"for one alone": {[]bus.Inbound{{Text: "approve", Agent: "bob"}, {Text: "approve"}}, []string{"bob.txt", "ana.txt"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r runs
			agent := func(id string) actor {
				return bot(id, has(r.tool()), script(`
rules:
  - {when: write, tool_calls: [{name: write_file, args: {path: `+id+`.txt, text: x}}]}
  - {after_tool: "*", text: "`+id+` is done."}
  - {text: "`+id+` heard ${text}"}
`), onChannel("team"))
			}
			w := newWorld(t, agent("ana"), agent("bob"))
			w.say("team", bus.Inbound{Text: "write", Agent: "ana"})
			w.expect("approval", "Ana wants to write ana.txt (1 byte). Reply approve or deny.")
			w.settled()
			w.say("team", bus.Inbound{Text: "write", Agent: "bob"})
			w.expect("approval", "Bob wants to write bob.txt (1 byte). Reply approve 2 or deny 2.")
			w.settled()
			for i, word := range test.say {
				w.say("team", word)
				w.eventually("it has run", func() bool { return len(r.ran()) > i })
				w.settled()
				if got := r.ran(); !slices.Equal(got, test.ran[:i+1]) {
					t.Fatalf("ran %q, want %q", got, test.ran[:i+1])
				}
			}
			first, second := strings.TrimSuffix(test.ran[0], ".txt"), strings.TrimSuffix(test.ran[1], ".txt")
			// The first waits for nothing any more when the second word comes: to it that is a message.
			want := []string{first + " is done.", second + " is done.", first + " heard " + test.say[1].Text}
			got := []string{w.hear().Text, w.hear().Text, w.hear().Text}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("heard %q, want %q", got, want)
			}
			w.settled()
			w.silent()
		})
	}
}

// What two agents ask at the same time has two numbers, and each one answer.
func TestAgentsInOneChatAskAtOnce(t *testing.T) {
	t.Parallel()
	var r runs
	agent := func(id string) actor {
		return bot(id, has(r.tool()), onChannel("team"), script(`
rules:
  - {when: write, tool_calls: [{name: write_file, args: {path: `+id+`.txt, text: x}}]}
  - {after_tool: "*", text: done}
  - {text: "${text}?"}
`))
	}
	w := newWorld(t, agent("ana"), agent("bob"))
	var both sync.WaitGroup
	both.Add(2)
	w.hook(hooks.BeforeToolCall, hooks.Options{}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
		both.Done()
		both.Wait()
		return hooks.Outcome{}, nil
	})
	w.say("team", bus.Inbound{Text: "write"})
	asked := []string{w.hear().Text, w.hear().Text}
	slices.SortFunc(asked, func(a, b string) int { return len(a) - len(b) })
	if !strings.HasSuffix(asked[0], "Reply approve or deny.") || !strings.HasSuffix(asked[1], "Reply approve 2 or deny 2.") {
		t.Fatalf("asked %q", asked)
	}
	w.settled()
	w.say("team", bus.Inbound{Text: "approve 2"})
	w.eventually("it has run", func() bool { return len(r.ran()) > 0 })
	w.settled()
	if ran := r.ran(); len(ran) > 1 || strings.Contains(asked[0], ran[0]) {
		t.Errorf("asked %q, ran %q", asked, ran)
	}
}

// A word that approves the call of one agent does not answer the open question of another.
func TestApprovalAndQuestionOfTwoAgentsInOneChat(t *testing.T) {
	t.Parallel()
	var r runs
	ask := tools.Tool{Name: "ask_human", Schema: anything, ReadOnly: true, Asks: true, Run: func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &tools.Wait{Question: true, Prompt: "Which?"}}, nil
	}}
	w := newWorld(t, bot("ana", script(writing), has(ask), onChannel("team")), bot("bob", script(writing), has(r.tool()), onChannel("team")))
	w.say("team", bus.Inbound{Text: "questions", Agent: "ana"})
	w.hear()
	w.hear()
	w.settled()
	w.say("team", bus.Inbound{Text: "write", Agent: "bob"})
	w.expect("approval", "Bob wants to write note.txt (5 bytes). Reply approve 3 or deny 3.")
	w.settled()
	w.say("team", bus.Inbound{Text: "approve"})
	w.expect("reply", "It says: wrote note.txt")
	w.settled()
	w.silent() // Ana still asks
	w.say("team", bus.Inbound{Text: "1: red", Agent: "ana"})
	w.settled()
	w.say("team", bus.Inbound{Text: "blue", Agent: "ana"})
	w.expect("reply", "It says: red")
}

// Words that come at once are for one question each, also while the answer before is on its
// way to where it was asked.
func TestWordsAtOnce(t *testing.T) {
	t.Parallel()
	const write = `
rules:
  - {when: "write", tool_calls: [{name: write_file, args: {path: %[1]s.txt, text: x}}]}
  - {after_tool: "*", text: "%[1]s is done."}
  - {text: "%[1]s heard ${text}"}
`
	tests := map[string]func(*runs) []actor{
		"two agents": func(r *runs) []actor {
			return []actor{
				bot("one", has(r.tool()), onChannel("team"), script(fmt.Sprintf(write, "one"))),
				bot("two", has(r.tool()), onChannel("team"), script(fmt.Sprintf(write, "two"))),
			}
		},
		"two that work for one": func(r *runs) []actor {
			give := tools.Tool{Name: "give", Schema: anything, ReadOnly: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
				to := struct{ To string }{}
				err := json.Unmarshal(call.Args, &to)
				return tools.Result{Wait: &tools.Wait{To: to.To, Prompt: "write"}}, err
			}}
			return []actor{
				bot("kate", has(give), asks("*"), onChannel("team"), script(`
rules:
  - {when: write, tool_calls: [{name: give, args: {to: one}}, {name: give, args: {to: two}}]}
  - {after_tool: "*", text: "kate is done."}
  - {text: "kate heard ${text}"}
`)),
				bot("one", has(r.tool()), script(fmt.Sprintf(write, "one"))),
				bot("two", has(r.tool()), script(fmt.Sprintf(write, "two"))),
			}
		},
	}
	for name, actors := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t, actors(&r)...)
			w.say("team", bus.Inbound{Text: "write"})
			for range 2 {
				if out := w.hear(); out.Kind != "approval" {
					t.Fatalf("heard %+v, want an approval", out)
				}
			}
			w.settled()
			w.say("team", bus.Inbound{Text: "yes"})
			w.say("team", bus.Inbound{Text: "yes"})
			w.eventually("both have run", func() bool { return len(r.ran()) == 2 })
			w.settled()
		})
	}
}

// What two agents in one chat say to the same message has an id each: else the stream keeps one.
func TestAgentsInOneChatHaveRepliesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying), onChannel("team")), bot("bob", script(paying), onChannel("team")))
	w.say("team", bus.Inbound{ID: "m1", Text: "never mind", Edits: "m0"})
	one, two := w.hear(), w.hear()
	if one.InReplyTo != "m1" || two.InReplyTo != "m1" || one.Agent == two.Agent || one.ID == two.ID {
		t.Errorf("heard %s of %s and %s of %s", one.ID, one.Agent, two.ID, two.Agent)
	}
}

// An agent and one that works for it ask in one chat: what is asked second has a number,
// and a word without one is for the oldest.
func TestApprovalsOfAnAgentAndItsDelegate(t *testing.T) {
	t.Parallel()
	const own, other = "write a.txt (1 byte)", "write ops.txt (1 byte)"
	tests := map[string]struct {
		first, second string   // what is asked
		say           []string // two answers
		ran           []string
	}{
		"the number of the delegate":       {own, other, []string{"approve 2", "approve"}, []string{"ops.txt", "a.txt"}},
		"the number of the first":          {own, other, []string{"approve 1", "ok 2"}, []string{"a.txt", "ops.txt"}},
		"no number":                        {own, other, []string{"approve", "approve"}, []string{"a.txt", "ops.txt"}},
		"no number, the delegate first":    {other, own, []string{"approve", "approve"}, []string{"ops.txt", "a.txt"}},
		"its number, the delegate first":   {other, own, []string{"approve 2", "approve"}, []string{"a.txt", "ops.txt"}},
		"first number, the delegate first": {other, own, []string{"approve 1", "approve 2"}, []string{"ops.txt", "a.txt"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t,
				bot("ana", has(handing("ops"), r.tool()), asks("ops"), script(`
rules:
  - {when: write, tool_calls: [{name: write_file, args: {path: a.txt, text: x}}, {name: delegate, args: {}}]}
  - {when: delegate, tool_calls: [{name: delegate, args: {}}, {name: write_file, args: {path: a.txt, text: x}}]}
  - {after_tool: "*", text: "Done."}
`), func(a *actor) {
					if test.first == other {
						a.cfg.Limits.Tools = 1 // one after the other
					}
				}),
				bot("ops", has(r.tool()), script(`
rules:
  - {after_tool: "*", text: "Done by ops."}
  - {tool_calls: [{name: write_file, args: {path: ops.txt, text: x}}]}
`)))
			asked := make(chan struct{})
			w.hook(hooks.BeforeToolCall, hooks.Options{}, func(ctx context.Context, call hooks.Call) (hooks.Outcome, error) {
				if test.first == other && strings.Contains(string(call.Args["args"]), "a.txt") {
					select {
					case <-asked:
					case <-ctx.Done():
					}
				}
				return hooks.Outcome{}, nil
			})
			w.say("ana", bus.Inbound{Text: map[string]string{own: "write", other: "delegate"}[test.first]})
			if out := w.hear(); out.Kind != "approval" || !strings.HasSuffix(out.Text, " wants to "+test.first+". Reply approve or deny.") {
				t.Fatalf("heard %+v, want %s", out, test.first)
			}
			close(asked)
			if out := w.hear(); out.Kind != "approval" || !strings.HasSuffix(out.Text, " wants to "+test.second+". Reply approve 2 or deny 2.") {
				t.Fatalf("heard %+v, want %s", out, test.second)
			}
			w.settled()
			for i, word := range test.say {
				w.say("ana", bus.Inbound{Text: word})
				w.eventually("it has run", func() bool { return slices.Equal(r.ran(), test.ran[:i+1]) })
				w.settled()
			}
			w.eventually("the agent has answered", func() bool { return w.hear().Text == "Done." })
		})
	}
}

// A number names a question of the delegate also where any text answers that of the
// agent itself.
func TestQuestionsOfAnAgentAndItsDelegate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		said []string
		want []string // what the tools of the two bring
	}{
		"numbers":    {[]string{"2: there", "here"}, []string{"here", "there"}},
		"in order":   {[]string{"here", "there"}, []string{"here", "there"}},
		"the number": {[]string{"1: here", "2: there"}, []string{"here", "there"}},
		"the last":   {[]string{"2: there", "1: here"}, []string{"here", "there"}},
		"restarts":   {[]string{"2: there", "", "1: here"}, []string{"here", "there"}},
		"a text":     {[]string{"2: there", "3: here"}, []string{"3: here", "there"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := tools.Tool{Name: "ask_human", Schema: anything, ReadOnly: true, Asks: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
				return tools.Result{Wait: &tools.Wait{Question: true, Prompt: "Where is " + call.Agent + "?"}}, nil
			}}
			actors := []actor{
				bot("ana", has(handing("ops"), ask), asks("ops"), script(`
rules:
  - {when: go, tool_calls: [{name: ask_human, args: {}}, {name: delegate, args: {}}]}
  - {after_tool: "*", text: "Done."}
`)),
				bot("ops", has(ask), script(`
rules:
  - {after_tool: "*", text: "${result}"}
  - {tool_calls: [{name: ask_human, args: {}}]}
`)),
			}
			w := newWorld(t, actors...)
			w.say("ana", bus.Inbound{Text: "go"})
			w.expect("question", "Where is ana?")
			w.expect("question", "Question 2: Where is ops?\nBegin your reply with 2:")
			w.settled()
			for _, text := range test.said {
				if text == "" {
					w.stop()
					w.start(actors...)
					continue
				}
				w.say("ana", bus.Inbound{Text: text})
				w.settled()
			}
			w.eventually("the agent has answered", func() bool { return w.hear().Text == "Done." })
			got := w.toolResults()
			if slices.Sort(got); !slices.Equal(got, test.want) {
				t.Errorf("the model got %q, want %q", got, test.want)
			}
		})
	}
}

// What a person said before the question was put is no answer to it, and gets its
// own.
func TestWordFromBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	var r runs
	w := newWorld(t, bot("ana", script(writing), has(r.tool())))
	w.say("ana", bus.Inbound{Text: "slowly"})
	w.say("ana", bus.Inbound{Text: "ok"})
	asked := w.hear()
	if asked.Kind != "approval" {
		t.Fatalf("heard %+v", asked)
	}
	w.settled()
	if len(r.ran()) > 0 {
		t.Fatal("it ran before it was approved")
	}
	if out := w.hear(); out.Kind != "notice" {
		t.Fatalf("heard %+v", out)
	}
	w.say("ana", bus.Inbound{Text: "ok"})
	w.expect("reply", "It says: wrote a.txt")
	w.expect("reply", "You said: ok")
}

// The operator may approve a call with other arguments: these run, the model is told,
// and what does not fit the tool is refused.
func TestApproveWithOtherArguments(t *testing.T) {
	t.Parallel()
	var r runs
	w := newWorld(t, bot("ana", script(writing), has(r.tool())))
	w.say("ana", bus.Inbound{Text: "write"})
	asked := w.hear()
	told := w.subscribe("told")
	for args, want := range map[string]string{`{"path":7}`: "arguments do not fit", `[]`: "arguments do not fit"} {
		w.send("agent.route.ana", bus.Route{
			Kind: "result", From: "cli", Door: bus.DoorCLI, CorrelationID: asked.Call, Text: "approve", Args: json.RawMessage(args), ReplyTo: "told",
		})
		if route := nextRoute(t, told); route.Error == nil || !strings.Contains(route.Error.Message, want) {
			t.Errorf("%s: told %+v", args, route.Error)
		}
	}
	w.send("agent.route.ana", bus.Route{
		Kind: "result", From: "cli", Door: bus.DoorCLI, CorrelationID: asked.Call, Text: "approve",
		Args: json.RawMessage(`{"path":"other.txt"}`), ReplyTo: "told",
	})
	w.expect("reply", "It says: [the person who approved this call changed its arguments to {\"path\":\"other.txt\"}]\nwrote other.txt")
	if !slices.Equal(r.ran(), []string{"other.txt"}) {
		t.Errorf("ran %q", r.ran())
	}
}

// Since when a question waits, and its number, are the same after its host died.
func TestQuestionIsTheSameAfterATakeover(t *testing.T) {
	t.Parallel()
	var r runs
	ana := bot("ana", script(writing), has(r.tool()))
	w := newWorld(t, ana)
	w.say("ana", bus.Inbound{Text: "three"})
	for range 3 {
		w.hear()
	}
	w.settled()
	before := byNumber(t, w)
	w.stop()
	w.start(ana)
	w.say("ana", bus.Inbound{Text: "hello"}) // it opens the session
	w.hear()
	w.settled()
	for number, after := range byNumber(t, w) {
		if was := before[number]; was.AskedAt.IsZero() || !was.AskedAt.Equal(after.AskedAt) || was.ID != after.ID {
			t.Errorf("%d waits as %+v, want %+v", number, after, was)
		}
	}
	w.say("ana", bus.Inbound{Text: "approve 3"})
	w.eventually("the third has run", func() bool { return slices.Equal(r.ran(), []string{"c.txt"}) })
}

func byNumber(t *testing.T, w *world) map[int]agents.Waiting {
	t.Helper()
	all, err := agents.AllWaiting(t.Context(), w.bus.JS)
	if err != nil || len(all) != 3 {
		t.Fatal(fmt.Sprint(len(all), " wait, want 3: "), err)
	}
	list := map[int]agents.Waiting{}
	for _, one := range all {
		list[one.Number] = one
	}
	return list
}
