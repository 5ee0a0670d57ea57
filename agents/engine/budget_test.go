package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// costly is a model each of whose answers costs a dollar.
const costly = `
rules:
  - {when: twice, tool_calls: [{name: pay, args: {}}], usage: {output: 1000000}}
  - {when: fail, error: {status: 400, message: no}, usage: {output: 1000000}}
  - {after_tool: "*", text: "It says: ${result}", usage: {output: 1000000}}
  - {text: "You said: ${text}", usage: {output: 1000000}}
`

func budget(b agents.Budget) func(*actor) {
	return func(a *actor) {
		a.cfg.Limits.Budget = b
		a.script, a.price, a.maxTokens = costly, &llm.Price{Input: 0.001, Output: 1}, 1_000_000
	}
}

const dollar = llm.MicroCents

// A budgetEvent tells of a budget that was exceeded.
type budgetEvent struct {
	Agent, Host, Kind, Span, Session, Run string
	Spent, Limit                          int64
	OnExceed                              string `json:"on_exceed"`
}

// exceeded waits for the next event of a budget.
func exceeded(t *testing.T, events chan *nats.Msg) (e budgetEvent) {
	t.Helper()
	if err := json.Unmarshal((<-events).Data, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) events(kind string) chan *nats.Msg {
	w.t.Helper()
	events := make(chan *nats.Msg, 100)
	if _, err := w.bus.NC.ChanSubscribe("agent.events.*."+kind, events); err != nil {
		w.t.Fatal(err)
	}
	return events
}

func TestBudgetFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{Session: 1})), bot("bob", budget(agents.Budget{Day: 1, OnExceed: "fail"})))
	events := w.events("budget")
	for agent, tt := range map[string]struct{ other, want, span string }{
		"ana": {"reply", "The budget of this conversation is used up.", "session"},
		"bob": {"error", "My budget for today is used up. Please try again tomorrow.", "day"},
	} {
		w.say(agent, bus.Inbound{Text: "one"})
		w.expect("reply", "You said: one")
		for range 3 {
			w.say(agent, bus.Inbound{Text: "two"})
			if out := w.expect("error", tt.want); out.Error.Code != "budget_exceeded" || !out.Final {
				t.Errorf("got %+v", out)
			}
		}
		w.say(agent, bus.Inbound{From: "eve", Text: "three"})
		if out := w.hear(); out.Kind != tt.other {
			t.Errorf("%s: another session heard %+v", agent, out)
		}
		e := exceeded(t, events)
		if e.Agent != agent || e.Span != tt.span || e.Limit != dollar || e.Spent < dollar || e.OnExceed != "fail" || (e.Session == "") != (e.Span == "day") {
			t.Errorf("got %+v", e)
		}
	}
	w.settled()
	if len(events) > 0 {
		t.Errorf("told again: %s", (<-events).Data)
	}
	w.eventually("all is booked", func() bool { return w.spentToday("ana") >= 2*dollar && w.spentToday("bob") >= dollar })
}

func TestBudgetOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{Run: 1}), has(counter(new(atomic.Int64)))))
	w.say("ana", bus.Inbound{Text: "twice"})
	w.hear()
	w.say("ana", bus.Inbound{Text: "approve"})
	w.expect("error", "This has become too expensive, so I stopped.")
	w.say("ana", bus.Inbound{Text: "one"})
	w.expect("reply", "You said: one")
}

// TestBudgetCountsInput refuses what is sure to be too much before it leaves.
func TestBudgetCountsInput(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]agents.Budget{"run": {Run: 0.0001}, "session": {Session: 0.0001}, "day": {Day: 0.0001}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", budget(b)))
			w.say("ana", bus.Inbound{Text: strings.Repeat("word ", 100_000)})
			if out := w.hear(); out.Error == nil || out.Error.Code != "budget_exceeded" {
				t.Errorf("got %+v", out)
			}
			w.settled()
			if got := w.spentToday("ana"); got != 0 {
				t.Errorf("%d was spent", got)
			}
		})
	}
}

func TestBudgetWarns(t *testing.T) {
	t.Parallel()
	for span, b := range map[string]agents.Budget{
		"session": {Session: 1, OnExceed: "warn"}, "day": {Day: 1, OnExceed: "warn"},
	} {
		t.Run(span, func(t *testing.T) {
			w := newWorld(t, bot("ana", budget(b)))
			events := w.events("budget")
			for range 4 {
				w.say("ana", bus.Inbound{Text: "one"})
				w.expect("reply", "You said: one")
			}
			if e := exceeded(t, events); e.Span != span || e.OnExceed != "warn" {
				t.Errorf("got %+v", e)
			}
			w.settled()
			if len(events) > 0 {
				t.Errorf("told again: %s", (<-events).Data)
			}
			w.eventually("all is booked", func() bool { return w.spentToday("ana") >= 4*dollar })
		})
	}
}

const mayI = "I have spent $1.00 of the $1.00 that I may spend today. May I go on and spend more? Only the operator can allow this. Reply deny to end it here."

func askingBudget(w *world) bus.Outbound {
	w.t.Helper()
	w.say("ana", bus.Inbound{Text: "one"})
	w.expect("reply", "You said: one")
	w.say("ana", bus.Inbound{Text: "two"})
	return w.expect("approval", mayI)
}

func TestBudgetAsks(t *testing.T) {
	t.Parallel()
	for answer, tt := range map[string]struct{ kind, text, next, other string }{
		"approve":         {"reply", "You said: two", "approval", "approval"},
		"approve session": {"reply", "You said: two", "reply", "approval"},
		"approve always":  {"reply", "You said: two", "reply", "reply"},
		"deny":            {"error", run.Sentence(llm.CodeBudgetExceeded), "approval", "approval"},
		"/stop":           {"error", "Stopped.", "approval", "approval"},
	} {
		t.Run(answer, func(t *testing.T) {
			w := newWorld(t, bot("ana", budget(agents.Budget{Day: 1, OnExceed: "ask"})))
			asked := askingBudget(w)
			w.settled()
			if word, scope, _ := strings.Cut(answer, " "); word == "approve" {
				w.approve(asked.Call, scope)
			} else {
				w.say("ana", bus.Inbound{Text: answer})
			}
			if out := w.expect(tt.kind, tt.text); !out.Final {
				t.Errorf("got %+v", out)
			}
			for from, kind := range map[string]string{"ana": tt.next, "eve": tt.other} {
				w.say("ana", bus.Inbound{From: from, Text: "three"})
				if out := w.hear(); out.Kind != kind {
					t.Errorf("%s heard %+v, want %s", from, out, kind)
				}
			}
		})
	}
}

// TestBudgetAsksAcrossARestart answers, by another door, a question that was
// put by a host that is gone.
func TestBudgetAsksAcrossARestart(t *testing.T) {
	t.Parallel()
	ana := bot("ana", budget(agents.Budget{Day: 1, OnExceed: "ask"}))
	w := newWorld(t, ana)
	asked := askingBudget(w)
	w.settled()
	w.stop()
	list, err := agents.AllWaiting(t.Context(), w.bus.JS)
	if err != nil || len(list) != 1 || list[0].ID != asked.Call || list[0].Tool != run.Budget || !strings.HasPrefix(mayI, list[0].Prompt+" Only") || list[0].Deadline.IsZero() {
		t.Fatalf("got %+v, %v", list, err)
	}
	w.start(ana)
	w.send("agent.route.ana", bus.Route{Kind: "result", From: "cli", Door: bus.DoorCLI, CorrelationID: asked.Call, Text: "approve"})
	w.expect("reply", "You said: two")
	w.silent()
}

// TestBudgetThatNobodyLifts denies at the deadline.
func TestBudgetThatNobodyLifts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{Day: 1, OnExceed: "ask"}), func(a *actor) { a.cfg.Limits.ApprovalTimeout = 1 }))
	askingBudget(w)
	w.expect("error", "No answer came in time, so I stopped. The budget for this is used up.")
}

// TestBudgetIsKept has a host that is restarted know what was spent.
func TestBudgetIsKept(t *testing.T) {
	t.Parallel()
	ana := bot("ana", budget(agents.Budget{Day: 2}))
	w := newWorld(t, ana)
	for range 2 {
		w.say("ana", bus.Inbound{Text: "one"})
		w.expect("reply", "You said: one")
	}
	w.settled()
	w.stop()
	w.start(ana)
	w.say("ana", bus.Inbound{From: "eve", Text: "three"})
	if out := w.hear(); out.Error == nil || out.Error.Code != "budget_exceeded" {
		t.Errorf("got %+v", out)
	}
}

// TestBudgetWithoutAPrice counts what has none as nothing.
func TestBudgetWithoutAPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{Day: 1, Session: 1, Run: 1}), func(a *actor) { a.price = nil }))
	for range 3 {
		w.say("ana", bus.Inbound{Text: "one"})
		w.expect("reply", "You said: one")
	}
	w.settled()
	if got := w.spentToday("ana"); got != 0 {
		t.Errorf("got %d", got)
	}
}

// TestBudgetIsLiftedForTheWholeRun asks once, however many calls follow.
func TestBudgetIsLiftedForTheWholeRun(t *testing.T) {
	t.Parallel()
	paid := has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")})
	w := newWorld(t, bot("ana", budget(agents.Budget{Run: 1, Session: 1, OnExceed: "ask"}), paid))
	w.say("ana", bus.Inbound{Text: "twice"})
	if out := w.hear(); out.Kind != "approval" || !strings.HasSuffix(out.Text, "on this task. May I go on and spend more? Only the operator can allow this. Reply deny to end it here.") {
		t.Fatalf("got %+v", out)
	}
	w.settled()
	w.approve(w.waiting().ID, "")
	w.expect("reply", "It says: paid")
	w.say("ana", bus.Inbound{Text: "twice"})
	if out := w.hear(); out.Kind != "approval" || !strings.HasSuffix(out.Text, "on this conversation. May I go on and spend more? Only the operator can allow this. Reply deny to end it here.") {
		t.Fatalf("got %+v", out)
	}
	w.settled()
	w.approve(w.waiting().ID, "")
	w.expect("reply", "It says: paid")
	w.eventually("all is booked", func() bool { return w.spentToday("ana") == 4*dollar })
}

// TestBudgetOfACallThatIsNotMade stops a run that has reserved what its call may
// cost and waits for room in front of its model: nothing stays reserved for it.
func TestBudgetOfACallThatIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{Day: 100}), func(a *actor) {
		a.script = "rules:\n  - {when: slow, delay: 1h, text: done}\n"
		a.gate = llm.NewGate("scripted", llm.Rate{Concurrency: 1})
	}))
	reserved := func(runs int) func() bool {
		return func() bool { return len(w.spend("ana").Hosts["test"].Runs) == runs }
	}
	w.say("ana", bus.Inbound{From: "eve", Text: "slow"})
	w.eventually("the first call is reserved for", reserved(1))
	w.say("ana", bus.Inbound{Text: "slow"})
	w.eventually("the second call is reserved for", reserved(2))
	w.say("ana", bus.Inbound{Text: "/stop"})
	w.expect("error", "Stopped.")
	w.eventually("the second call is given back", reserved(1))
	w.say("ana", bus.Inbound{From: "eve", Text: "/stop"})
	w.expect("error", "Stopped.")
	w.eventually("nothing is reserved", reserved(0))
}

// spentToday is what the record of an agent says.
func (w *world) spentToday(agent string) int64 {
	w.t.Helper()
	spent, err := agents.SpentToday(w.t.Context(), w.bus.JS, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return spent.Agents[agent]
}

// spend is the record of an agent for today.
func (w *world) spend(agent string) (s agents.Spend) {
	w.t.Helper()
	kv, err := w.bus.JS.KeyValue(w.t.Context(), bus.SpendBucket)
	if err != nil {
		w.t.Fatal(err)
	}
	entry, err := kv.Get(w.t.Context(), agent+"."+time.Now().UTC().Format(time.DateOnly))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return s
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(entry.Value(), &s); err != nil {
		w.t.Fatal(err)
	}
	return s
}
