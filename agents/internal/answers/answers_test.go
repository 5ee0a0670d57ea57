package answers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"
)

const key = "web/dm/ann"

// reader reads answers to ana, whose tool pay takes a sum, and whose tool sh any command but rm.
func reader(approvers ...string) Reader {
	pay := tools.Tool{Name: "pay", Schema: json.RawMessage(`{"type":"object","required":["sum"]}`), Run: tools.Tool{}.Run}
	sh := tools.Tool{Name: "sh", Schema: json.RawMessage(`{"properties":{"command":{}}}`), Run: tools.Tool{}.Run, Commands: func(args json.RawMessage) string {
		var a struct{ Command string }
		_ = json.Unmarshal(args, &a) // what is no command is the empty one
		return a.Command
	}}
	policy, err := tools.NewPolicy(map[string]string{"pay": "ask", "sh": "ask", "sh:rm": "deny"})
	if err != nil {
		panic(err)
	}
	box := &profile.Toolbox{Registry: tools.NewRegistry(), Own: []tools.Tool{pay, sh}, Policy: policy, Validator: new(tools.Validator)}
	over, end := context.WithCancel(context.Background()) // it does not wait for what is asked elsewhere
	end()
	a := &inflight.Agent{ID: "ana", Parts: parts.New(parts.Options{}), Work: over}
	a.Profile.Store(profile.New(agents.Config{ID: "ana", Approvers: approvers}, profile.Kit{Chain: new(llm.Chain), Box: box}, new(profile.Peers)))
	return Reader{inflight.Session{Agent: a, Key: key}}
}

func said(text string) *message.Item {
	return &message.Item{
		Input:  run.Input{ID: "m9", Subject: "plugin.inbound.web", Seq: 9},
		Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "ann", Text: text}},
	}
}

// mailed is the first mail of a thread, as the channel for e-mail reads it.
func mailed(subject, text string) *message.Item {
	it := said(strings.TrimSpace("Subject: " + subject + "\n\n" + text))
	it.Origin.Inbound.Meta = map[string]any{bus.MetaSubject: subject}
	return it
}

// routed is a result that a host has signed.
func routed(route bus.Route) *message.Item {
	route.Kind = bus.RouteResult
	return &message.Item{Signed: true, Input: run.Input{ID: "m9"}, Origin: message.Origin{Subject: "agent.route.ana", Route: &route}}
}

var (
	approval = run.Call{ID: "c1", Wait: "t1", Name: "pay", Asked: run.ForApproval, Prompt: "Ana wants to pay.", Number: 1, Newest: 5}
	command  = run.Call{ID: "c5", Wait: "t5", Name: "sh", Asked: run.ForApproval, Prompt: "Ana wants to run make.", Newest: 5}
	question = run.Call{ID: "c2", Wait: "t2", Name: "ask_human", Asked: run.ForQuestion, Prompt: "Which color?", Number: 2, Newest: 5}
	numbers  = run.Call{ID: "c4", Wait: "t4", Name: "ask_human", Asked: run.ForQuestion, Prompt: "How many?", Options: []string{"0", "1", "2"}, Newest: 5}
	task     = run.Call{ID: "c3", Wait: "t3", Name: "delegate", Asked: run.ForDelegate, To: "ben"}
)

var deadline = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func until(call run.Call) run.Call {
	call.Deadline = deadline
	return call
}

// stored is it as it came so long after the deadline.
func stored(it *message.Item, after time.Duration) *message.Item {
	it.Stored = deadline.Add(after)
	return it
}

func waiting(calls ...run.Call) *run.Run { return &run.Run{ID: "r1", Calls: calls} }

func idOf(call run.Call) string { return reader().WaitID("r1", call) }

// What a person says in the chat that was asked.
func TestAnswerOfAPerson(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		run   *run.Run
		in    *message.Item
		kind  run.SignalKind // empty: it is no answer
		call  string
		says  string
		scope string
	}{
		"approves":                 {run: waiting(approval), in: said("Yes."), kind: run.Answered, call: "c1", says: run.Approve, scope: ask.ScopeOnce},
		"denies":                   {run: waiting(approval), in: said("deny"), kind: run.Answered, call: "c1", says: run.Deny, scope: ask.ScopeOnce},
		"for the session":          {run: waiting(approval), in: said("approve session"), kind: run.Answered, call: "c1", says: run.Approve, scope: ask.ScopeSession},
		"something else":           {run: waiting(approval), in: said("what is it for?")},
		"by number":                {run: waiting(approval, question), in: said("2: red"), kind: run.Answered, call: "c2", says: "red"},
		"a word for any":           {run: waiting(approval, question), in: said("blue"), kind: run.Answered, call: "c2", says: "blue"},
		"a task is not theirs":     {run: waiting(task), in: said("done")},
		"nothing waits":            {run: waiting(), in: said("yes")},
		"stops":                    {run: waiting(), in: said("/Stop"), kind: run.Abort},
		"an order":                 {run: waiting(question), in: said("/help")},
		"from before it asked":     {run: waiting(approval), in: at(said("yes"), 4)},
		"the last from before":     {run: waiting(approval), in: at(said("yes"), 5)},
		"the first from then on":   {run: waiting(approval), in: at(said("yes"), 6), kind: run.Answered, call: "c1", says: run.Approve, scope: ask.ScopeOnce},
		"names the wait":           {run: waiting(approval, question), in: naming(said("green"), idOf(question)), kind: run.Answered, call: "c2", says: "green"},
		"presses a number":         {run: waiting(numbers), in: pressing(1, naming(said("1"), idOf(numbers))), kind: run.Answered, call: "c4", says: "0"},
		"an old button":            {run: waiting(numbers), in: naming(said("3"), idOf(numbers)), kind: run.Answered, call: "c4", says: "2"},
		"a button beyond the last": {run: waiting(numbers), in: pressing(9, naming(said("1"), idOf(numbers))), kind: run.Answered, call: "c4", says: "1"},
		"a button of nothing":      {run: waiting(numbers), in: pressing(1, said("1")), kind: run.Answered, call: "c4", says: "1"},
		"names another wait":       {run: waiting(question), in: naming(said("green"), "ana.x.y")},
		"names a task":             {run: waiting(task), in: naming(said("done"), idOf(task))},
		"always, from the chat":    {run: waiting(approval), in: said("approve always")},
		"edits":                    {run: waiting(question), in: editing(said("blue"))},
		"in time":                  {run: waiting(until(question)), in: stored(said("blue"), 0), kind: run.Answered, call: "c2", says: "blue"},
		"too late":                 {run: waiting(until(question)), in: stored(said("blue"), time.Second)},
		"too late, by name":        {run: waiting(until(approval)), in: stored(naming(said("approve"), idOf(approval)), time.Second)},
		"too late for one of two":  {run: waiting(until(question), numbers), in: stored(said("2"), time.Second), kind: run.Answered, call: "c4", says: "2"},
		"in the mail of a thread":  {run: waiting(approval), in: mailed("hi", "approve"), kind: run.Answered, call: "c1", says: run.Approve, scope: ask.ScopeOnce},
		"in its subject":           {run: waiting(question), in: mailed("blue", ""), kind: run.Answered, call: "c2", says: "blue"},
		"stops in a mail":          {run: waiting(approval), in: mailed("hi", "/stop"), kind: run.Abort},
		"an order in a mail":       {run: waiting(question), in: mailed("hi", "/help")},
		"another mail":             {run: waiting(approval), in: mailed("approve", "of what?")},
		"too late, yet it stops":   {run: waiting(until(question)), in: stored(said("/stop"), time.Second), kind: run.Abort},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sig, ok := reader().Answer(tt.in, tt.run)
			if ok != (tt.kind != "") {
				t.Fatalf("an answer: %v, %+v", ok, sig)
			}
			if sig.Kind != tt.kind || sig.Call != tt.call || sig.Answer != tt.says || sig.Scope != tt.scope {
				t.Errorf("got %+v", sig)
			}
			if ok && (sig.By != "ann" || sig.Run != "r1" || sig.Input.ID != "m9") {
				t.Errorf("not in full: %+v", sig)
			}
		})
	}
}

func at(it *message.Item, seq uint64) *message.Item { it.Input.Seq = seq; return it }

func naming(it *message.Item, wait string) *message.Item { it.Origin.Inbound.Answers = wait; return it }

func pressing(option int, it *message.Item) *message.Item {
	it.Origin.Inbound.Meta = map[string]any{bus.MetaOption: float64(option)}
	return it
}

func editing(it *message.Item) *message.Item { it.Origin.Inbound.Edits = "m1"; return it }

// Results by route count when a host has signed them and they are of whom was asked.
func TestAnswerByRoute(t *testing.T) {
	t.Parallel()
	book := texts.Book{}
	tests := map[string]struct {
		call  run.Call
		route bus.Route
		want  run.Signal // its kind is empty when it is no answer
	}{
		"a result":                    {task, bus.Route{From: "ben", Text: "42", Media: []bus.Media{{Kind: "image", URL: "u"}}}, run.Signal{Kind: run.Answered, Call: "c3", Answer: "42\n[attached image: u]"}},
		"a failed task":               {task, bus.Route{From: "ben", Error: &bus.Error{Code: "c", Message: "broken"}}, run.Signal{Kind: run.ToolSettled, Call: "c3", Source: run.FromDelegate, Result: "broken"}},
		"a failed task without words": {task, bus.Route{From: "ben", Error: &bus.Error{Code: "c"}}, run.Signal{Kind: run.ToolSettled, Call: "c3", Source: run.FromDelegate, Result: "c"}},
		"of another agent":            {task, bus.Route{From: "eve", Text: "42"}, run.Signal{}},
		"a task in time":              {task, bus.Route{From: ask.FromDeadline}, run.Signal{Kind: run.ToolSettled, Call: "c3", Source: run.FromDelegate, Late: true, Result: "no result came in time"}},
		"an approval by the operator": {approval, bus.Route{From: "cli", Door: bus.DoorCLI, Text: "approve", Scope: ask.ScopeAlways}, run.Signal{Kind: run.Answered, Call: "c1", Answer: run.Approve, Scope: ask.ScopeAlways}},
		"an approval by an agent":     {approval, bus.Route{From: "ben", Text: "approve"}, run.Signal{}},
		"other arguments":             {approval, bus.Route{From: "cli", Door: bus.DoorCLI, Text: "approve", Args: json.RawMessage(`{"sum":1}`)}, run.Signal{Kind: run.Answered, Call: "c1", Answer: run.Approve, Scope: ask.ScopeOnce}},
		"arguments that do not fit":   {approval, bus.Route{From: "cli", Door: bus.DoorCLI, Text: "approve", Args: json.RawMessage(`{}`)}, run.Signal{}},
		"another command":             {command, bus.Route{From: "cli", Door: bus.DoorCLI, Text: "approve", Args: json.RawMessage(`{"command":"ls"}`)}, run.Signal{Kind: run.Answered, Call: "c5", Answer: run.Approve, Scope: ask.ScopeOnce}},
		"a command that is denied":    {command, bus.Route{From: "cli", Door: bus.DoorCLI, Text: "approve", Args: json.RawMessage(`{"command":"rm -r x"}`)}, run.Signal{}},
		"arguments for a question":    {question, bus.Route{From: "cli", Door: bus.DoorCLI, Text: "red", Args: json.RawMessage(`{"sum":1}`)}, run.Signal{}},
		"an approval in time":         {approval, bus.Route{From: ask.FromDeadline}, run.Signal{Kind: run.Answered, Call: "c1", Answer: run.Deny, Late: true, Result: "not approved: no answer came before the deadline, so it was not run", Notice: book.Say("approval_expired", "what", approval.Prompt)}},
		"a question in time":          {question, bus.Route{From: ask.FromDeadline}, run.Signal{Kind: run.ToolSettled, Call: "c2", Source: run.FromAnswer, Late: true, Result: "no answer came before the deadline", Notice: book.Say("question_expired", "question", question.Prompt)}},
		"a question with a default":   {question, bus.Route{From: ask.FromDeadline, Text: "red"}, run.Signal{Kind: run.Answered, Call: "c2", Answer: "red", Late: true, Result: "red (the default: no answer came before the deadline)", Notice: book.Say("question_expired_default", "question", question.Prompt, "answer", "red")}},
		"the operator stops":          {task, bus.Route{From: "cli", Door: bus.DoorCLI, CorrelationID: "x" + ask.StopToken, Text: "enough"}, run.Signal{Kind: run.Abort, Reason: "enough"}},
		"what is under no known id":   {task, bus.Route{From: "ben", CorrelationID: "ana.x.y", Text: "42"}, run.Signal{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.route.CorrelationID == "" {
				tt.route.CorrelationID = idOf(tt.call)
			}
			it := routed(tt.route)
			sig, ok := reader().Answer(it, waiting(tt.call))
			if ok != (tt.want.Kind != "") {
				t.Fatalf("an answer: %v, %+v, %v", ok, sig, it.Unfit)
			}
			if sig.Kind != tt.want.Kind || sig.Call != tt.want.Call || sig.Answer != tt.want.Answer || sig.Scope != tt.want.Scope || sig.Late != tt.want.Late {
				t.Errorf("got %+v, want %+v", sig, tt.want)
			}
			if sig.Result != tt.want.Result || sig.Source != tt.want.Source || sig.Notice != tt.want.Notice || sig.Reason != tt.want.Reason {
				t.Errorf("got %+v, want %+v", sig, tt.want)
			}
			if len(it.Origin.Route.Args) > 0 && !ok && it.Unfit == nil {
				t.Error("it is not said why other arguments do not count")
			}
			it.Signed = false
			if sig, ok := reader().Answer(it, waiting(tt.call)); ok {
				t.Errorf("unsigned it counts: %+v", sig)
			}
			it.Signed, it.Origin.Route.Kind = true, bus.RouteDelegate
			if sig, ok := reader().Answer(it, waiting(tt.call)); ok {
				t.Errorf("as a task it counts: %+v", sig)
			}
		})
	}
}

// Who may answer what: approvers from anywhere, the chat that was asked except for
// what only the operator may.
func TestRefuse(t *testing.T) {
	t.Parallel()
	approve, always := run.Signal{Answer: run.Approve, Scope: ask.ScopeOnce}, run.Signal{Answer: run.Approve, Scope: ask.ScopeAlways}
	deny := run.Signal{Answer: run.Deny}
	theirs := []string{"web/boss"}
	tests := map[string]struct {
		waits     agents.Waiting
		elsewhere bool
		answer    run.Signal
		refused   string
	}{
		"the chat":                   {agents.Waiting{Kind: run.ForApproval}, false, approve, ""},
		"another chat":               {agents.Waiting{Kind: run.ForApproval}, true, approve, "from another chat"},
		"not an approver":            {agents.Waiting{Kind: run.ForApproval, Approvers: theirs}, false, deny, "Only an approver"},
		"an approver, elsewhere":     {agents.Waiting{Kind: run.ForApproval, Approvers: []string{"web/ann"}}, true, always, ""},
		"a question, with approvers": {agents.Waiting{Kind: run.ForQuestion, Approvers: theirs}, false, run.Signal{Answer: "red"}, ""},
		"a question of another chat": {agents.Waiting{Kind: run.ForQuestion}, true, run.Signal{Answer: "red"}, "from another chat"},
		"always":                     {agents.Waiting{Kind: run.ForApproval, ID: "w"}, false, always, "agenthost approvals answer w approve --scope always"},
		"more money":                 {agents.Waiting{Kind: run.ForApproval, ID: "w", Tool: run.Budget}, false, approve, "agenthost approvals answer w approve"},
		"no more money":              {agents.Waiting{Kind: run.ForApproval, Tool: run.Budget}, false, deny, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := RuleOf(tt.waits).Refuse(texts.Book{}, said("x"), !tt.elsewhere, tt.answer)
			switch {
			case (got == nil) != (tt.refused == ""):
				t.Errorf("got %+v, want %q", got, tt.refused)
			case got != nil && (got.Code != llm.CodeToolDenied || !strings.Contains(got.Message, tt.refused)):
				t.Errorf("got %+v, want %q", got, tt.refused)
			}
		})
	}
}

// A message that may not answer is told why; one that answers nothing is not.
func TestRefusal(t *testing.T) {
	t.Parallel()
	r := waiting(approval)
	if e := reader("web/boss").Refusal(said("yes"), r); e == nil || !strings.Contains(e.Message, "Only an approver") {
		t.Errorf("got %+v", e)
	}
	for name, it := range map[string]*message.Item{"other words": said("hello?"), "a result": routed(bus.Route{From: "ben"})} {
		if e := reader("web/boss").Refusal(it, r); e != nil {
			t.Errorf("%s: got %+v", name, e)
		}
	}
	held := &run.Run{ID: "r1", Hold: &run.Call{ID: "h", Wait: "t", Asked: run.ForApproval, Name: run.Budget, AskedAt: time.Now()}}
	if e := reader().Refusal(said("yes"), held); e == nil || !strings.Contains(e.Message, "spend more") {
		t.Errorf("over the budget: got %+v", e)
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*run.Error{
		"reply approve or deny":        reader().NoAnswer(said("x"), run.ForApproval, nil),
		"reply with one of: red, blue": reader().NoAnswer(said("x"), run.ForQuestion, []string{"red", "blue"}),
		"reply in words":               reader().NoAnswer(said("x"), run.ForQuestion, nil),
	} {
		if e.Code != llm.CodeValidation || !strings.Contains(e.Message, want) {
			t.Errorf("got %+v, want %q", e, want)
		}
	}
}

// What names a question is told why it does not answer it.
func TestNoneOf(t *testing.T) {
	t.Parallel()
	book := reader().Texts()
	for name, tt := range map[string]struct {
		call run.Call
		in   *message.Item
		want string
	}{
		"nothing waits":  {question, naming(said("yes"), "ana.x.y"), book.Say("no_open_question")},
		"a task":         {task, naming(said("done"), idOf(task)), book.Say("no_open_question")},
		"too late":       {until(question), stored(naming(said("blue"), idOf(question)), time.Second), book.Say("question_expired", "question", question.Prompt)},
		"no such option": {numbers, naming(said("9"), idOf(numbers)), book.Say("not_an_option", "options", "0, 1, 2")},
	} {
		if why := reader().NoneOf(tt.in, waiting(tt.call)); why.Message != tt.want {
			t.Errorf("%s: it is told %q, want %q", name, why.Message, tt.want)
		}
	}
}

// What is passed on counts by when it was said, where a host says so.
func TestRoutedAnswerInTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answered time.Duration // after the deadline; 0: it is not told
		subject  string
		unsigned bool
		want     bool
	}{
		"by itself":                {},
		"passed on":                {answered: -time.Second, want: true},
		"passed on, said too late": {answered: time.Second},
		"as a program says":        {answered: -time.Second, unsigned: true},
		"kept for its agent":       {subject: "agent.due.ana", want: true},
		"kept, said too late":      {subject: "agent.due.ana", answered: time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			route := bus.Route{From: "cli", Door: bus.DoorCLI, CorrelationID: idOf(approval), Text: "approve"}
			if tt.answered != 0 {
				route.AnsweredAt = deadline.Add(tt.answered)
			}
			it := stored(routed(route), time.Minute)
			it.Signed = !tt.unsigned
			if tt.subject != "" {
				it.Origin.Subject = tt.subject
			}
			if _, ok := reader().Answer(it, waiting(until(approval))); ok != tt.want {
				t.Errorf("it counts: %v, want %v", ok, tt.want)
			}
		})
	}
}
