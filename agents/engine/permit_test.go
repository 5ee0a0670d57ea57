package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/signing"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

func approvers(who ...string) func(*actor) { return func(a *actor) { a.cfg.Approvers = who } }

// boss is an agent that pays once it may, and that is reached by another channel too.
func boss(n *atomic.Int64, more ...func(*actor)) actor {
	a := bot("ana", append([]func(*actor){script(paying), has(counter(n))}, more...)...)
	a.cfg.Channels = append(a.cfg.Channels, agents.Binding{Channel: "staff"})
	return a
}

const (
	elsewhere   = "Only an approver can answer this from another chat. The question is still open."
	approvesNot = "Only an approver can answer this. The question is still open."
	whichScopes = "From a chat, an approval counts once or for this session"
)

// Who may not answer is told so, and the question stays open for who may.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	team := bus.Inbound{Group: true, Chat: "team"}
	in := func(channel, from, text string, at bus.Inbound) sayings {
		at.From, at.Text = from, text
		return sayings{channel, at}
	}
	dm := bus.Inbound{}
	tests := map[string]struct {
		approvers []string
		at        bus.Inbound // the chat that is asked
		refused   sayings
		why       string
		taken     sayings
		result    string
	}{
		"another person":          {nil, dm, in("ana", "bea", "approve", dm), elsewhere, in("ana", "ana", "approve", dm), "It says: paid"},
		"another channel":         {nil, dm, in("staff", "ana", "approve", dm), elsewhere, in("ana", "ana", "deny", dm), "It says: denied"},
		"another group":           {nil, team, in("ana", "ana", "approve", bus.Inbound{Group: true, Chat: "other"}), elsewhere, in("ana", "bea", "approve", team), "It says: paid"},
		"a member's own chat":     {nil, team, in("ana", "ana", "approve", dm), elsewhere, in("ana", "bea", "approve session", team), "It says: paid"},
		"always":                  {nil, dm, in("ana", "ana", "approve always", dm), whichScopes, in("ana", "ana", "approve session", dm), "It says: paid"},
		"an approver elsewhere":   {[]string{"staff/42"}, dm, in("staff", "43", "approve", dm), elsewhere, in("staff", "42", "approve", dm), "It says: paid"},
		"an approver, for always": {[]string{"staff/42"}, dm, in("ana", "42", "approve", dm), elsewhere, in("staff", "42", "approve always", dm), "It says: paid"},
		"of the group":            {[]string{"ana/bea"}, team, in("ana", "cyd", "approve", team), approvesNot, in("ana", "bea", "approve", team), "It says: paid"},
		"the chat, with others":   {[]string{"staff/42"}, dm, in("ana", "ana", "deny", dm), approvesNot, in("staff", "42", "deny", dm), "It says: denied"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			w := newWorld(t, boss(&n, approvers(tt.approvers...)))
			ask := tt.at
			ask.Text = "pay"
			w.say("ana", ask)
			asked := w.hear()
			w.settled()
			refused := tt.refused.in
			refused.ID, refused.Answers = "refused", asked.Call
			w.say(tt.refused.channel, refused)
			if out := w.hear(); out.Kind != "error" || !strings.HasPrefix(out.Text, tt.why) || out.InReplyTo != "refused" || !out.Final {
				t.Fatalf("heard %+v", out)
			}
			w.settled()
			if id := w.waiting().ID; id != asked.Call {
				t.Errorf("%s waits, want %s", id, asked.Call)
			}
			taken := tt.taken.in
			taken.Answers = asked.Call
			w.say(tt.taken.channel, taken)
			heard := []string{w.hear().Text}
			if tt.taken.channel != "ana" {
				heard = append(heard, w.hear().Text)
			}
			if !slices.Contains(heard, tt.result) {
				t.Errorf("heard %q, want %q", heard, tt.result)
			}
			answer := w.answered("ana", session.Key(asked.Session))
			if by, door := orAna(tt.taken.in.From), "plugin.inbound."+tt.taken.channel; answer.By != by || answer.Door != door {
				t.Errorf("the log has it of %q by %q, want %q by %q", answer.By, answer.Door, by, door)
			}
		})
	}
}

// sayings are a message and its channel.
type sayings struct {
	channel string
	in      bus.Inbound
}

func orAna(from string) string {
	if from == "" {
		return "ana"
	}
	return from
}

// answered is the last answer to an approval that the log of a session has.
func (w *world) answered(agent string, key session.Key) (last run.Event) {
	w.t.Helper()
	w.eventually("the log has the answer", func() bool {
		for _, e := range w.log(agent, key) {
			if e.Type == run.ApprovalAnswered {
				last = e
			}
		}
		return last.Type != ""
	})
	return last
}

func (w *world) log(agent string, key session.Key) (events []run.Event) {
	w.t.Helper()
	subject := "agent.session." + agent + "." + session.SID(agent, key)
	for rec, err := range w.parts.Reader.Tail(w.t.Context(), bus.SessionsStream, subject, 1) {
		if err != nil {
			w.t.Fatal(err)
		}
		commit := struct{ Events []run.Event }{}
		if err := json.Unmarshal(rec.Data, &commit); err != nil {
			w.t.Fatal(err)
		}
		if events = append(events, commit.Events...); len(events) > 0 && events[len(events)-1].Type == run.Finished {
			return events
		}
	}
	return events
}

// Plain words of another person of a group count as those of an approver only.
func TestWordsOfAGroup(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, boss(&n, approvers("ana/bea")))
	w.say("ana", bus.Inbound{Group: true, Chat: "team", Text: "pay"})
	w.hear()
	w.settled()
	w.say("ana", bus.Inbound{From: "cyd", Group: true, Chat: "team", Text: "approve"})
	w.expect("error", approvesNot)
	w.settled()
	w.say("ana", bus.Inbound{From: "bea", Group: true, Chat: "team", Text: "approve"})
	w.expect("reply", "It says: paid")
	if n.Load() != 1 {
		t.Errorf("%d effects", n.Load())
	}
}

// To spend more than a budget is the operator's to allow; a person can say no.
func TestBudgetIsNotForAChatToExceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{Day: 1, OnExceed: "ask"})))
	asked := askingBudget(w)
	w.settled()
	w.say("ana", bus.Inbound{Text: "approve"})
	if out := w.hear(); out.Kind != "error" || !strings.Contains(out.Text, "agenthost approvals answer "+asked.Call+" approve") {
		t.Fatalf("heard %+v", out)
	}
	w.settled()
	w.approve(asked.Call, "")
	w.expect("reply", "You said: two")
}

// What a program publishes settles nothing that an agent has asked, whatever it says.
func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	signedFor := func(change func(*nats.Msg)) func(*world, *nats.Msg) {
		return func(w *world, msg *nats.Msg) {
			w.parts.Publisher.Signer().Sign(msg)
			change(msg)
		}
	}
	forgeries := map[string]struct {
		answer bus.Route
		forge  func(*world, *nats.Msg)
	}{
		"a program":         {bus.Route{From: "desk", Text: "approve"}, nil},
		"the operator":      {bus.Route{From: "cli", Text: "approve", Door: bus.DoorCLI}, nil},
		"the clock":         {bus.Route{From: "agenthost:deadline", Text: "approve", Door: bus.DoorDeadline}, nil},
		"a wrong signature": {bus.Route{From: "cli", Text: "approve", Door: bus.DoorCLI}, func(_ *world, m *nats.Msg) { m.Header.Set(signing.Header, strings.Repeat("00", 32)) }},
		"another payload": {bus.Route{From: "cli", Text: "deny", Door: bus.DoorCLI}, signedFor(func(m *nats.Msg) {
			m.Data = []byte(strings.Replace(string(m.Data), "deny", "approve", 1))
		})},
		"what an agent says": {bus.Route{From: "ops", Text: "approve"}, signedFor(func(*nats.Msg) {})},
	}
	for name, tt := range forgeries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			w := newWorld(t, boss(&n))
			w.say("ana", bus.Inbound{Text: "pay"})
			asked := w.hear()
			w.settled()
			told := w.subscribe("told")
			tt.answer.Kind, tt.answer.CorrelationID, tt.answer.ReplyTo = bus.RouteResult, asked.Call, "told"
			msg, err := bus.NewMessage("agent.route.ana", tt.answer)
			if err != nil {
				t.Fatal(err)
			}
			if tt.forge != nil {
				tt.forge(w, msg)
			}
			if err := w.bus.NC.PublishMsg(msg); err != nil {
				t.Fatal(err)
			}
			r := bus.Route{}
			if err := json.Unmarshal(w.next(told).Data, &r); err != nil || r.Error == nil {
				t.Errorf("told %+v, %v", r, err)
			}
			if n.Load() != 0 || w.waiting().ID != asked.Call {
				t.Errorf("%d effects", n.Load())
			}
			w.say("ana", bus.Inbound{Text: "deny"})
			w.expect("reply", "It says: denied")
		})
	}
}

// The result of a task comes from the agent that was asked, and no order to stop from
// a program.
func TestForgedResults(t *testing.T) {
	t.Parallel()
	a := bot("ana", script(paying), has(handing("ops")), asks("ops"))
	w := newWorld(t, a, bot("ops", script(`rules: [{delay: 60s, text: late}]`)), bot("eve", script(paying)))
	w.say("ana", bus.Inbound{Text: "hand over"})
	id := w.waiting().ID
	told := w.subscribe("told")
	result := bus.Route{Kind: bus.RouteResult, From: "ops", CorrelationID: id, Text: "forged", ReplyTo: "told"}
	w.publish("agent.route.ana", result)
	w.next(told)
	result.From = "eve"
	w.send("agent.route.ana", result)
	w.next(told)
	stop, err := agents.StopMessage("ana", session.DM("ana", "", "ana"), "eve", "forged", "told")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.bus.NC.PublishMsg(stop); err != nil {
		t.Fatal(err)
	}
	w.next(told)
	result.From, result.Text = "ops", "done"
	w.send("agent.route.ana", result)
	w.expect("reply", "It says: done")
}

// The id that an answer needs is chance, and the log has it: it is the same after a
// restart, and another for the same call of another run.
func TestWaitIDs(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	a := boss(&n)
	w := newWorld(t, a)
	w.say("ana", bus.Inbound{ID: "1", Text: "pay"})
	asked := w.hear()
	w.settled()
	if parts := strings.Split(asked.Call, "."); len(parts) != 3 || len(parts[2]) != 26 {
		t.Errorf("the id is %q", asked.Call)
	}
	w.stop()
	w.start(a)
	w.say("ana", bus.Inbound{Text: "how are you"})
	w.hear()
	w.settled()
	if id := w.waiting().ID; id != asked.Call {
		t.Errorf("it is %q after a restart, and was %q", id, asked.Call)
	}
	w.approve(asked.Call, "")
	w.expect("reply", "It says: paid")
	answer := w.answered("ana", session.Key(asked.Session))
	if answer.By != "ops" || answer.Door != bus.DoorCLI {
		t.Errorf("the log has it of %q by %q", answer.By, answer.Door)
	}
}

// A program works under a name of its own, and accepts is for agents.
func TestProgramsAreNoAgents(t *testing.T) {
	t.Parallel()
	b := bot("b", script(`rules: [{text: "done"}]`), func(a *actor) { a.cfg.Accepts = []string{"kate"} })
	w := newWorld(t, b)
	told := w.subscribe("told")
	sessions := w.subscribe("agent.session.b.>")
	task := bus.Route{Kind: bus.RouteDelegate, CorrelationID: "c1", Text: "do it", ReplyTo: "told"}
	for from, want := range map[string]string{"kate": "does not take work", "billing": ""} {
		task.ID, task.From = "of "+from, from
		w.publish("agent.route.b", task)
		r := bus.Route{}
		if err := json.Unmarshal(w.next(told).Data, &r); err != nil {
			t.Fatal(err)
		}
		if (r.Error != nil) != (want != "") || r.Error != nil && !strings.Contains(r.Error.Message, want) {
			t.Errorf("%s is told %+v", from, r)
		}
		commit := struct{ Key string }{}
		if err := json.Unmarshal(w.next(sessions).Data, &commit); err != nil || commit.Key != "route/program:"+from+"/c1" {
			t.Errorf("%s works in %q, %v", from, commit.Key, err)
		}
	}
}

// Where a program says an answer goes, it does not go with the host's voice.
func TestSubjectsThatProgramsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "done"}]`)))
	dead := w.subscribe("agent.dead.ana")
	for _, subject := range []string{"agenthost.reload", "agenthost.sessions.delete", "agent.schedule.ana.x", "plugin.inbound.ana", "$JS.API.STREAM.PURGE.AGENT_SESSIONS"} {
		named := w.subscribe(subject)
		for kind, task := range map[string]bus.Route{
			"reply_to":           {Kind: bus.RouteDelegate, Text: "x", ReplyTo: subject},
			"origin":             {Kind: bus.RouteDelegate, Text: "x", Origin: &bus.Origin{Subject: subject, To: "x"}},
			"origin of an event": {Kind: bus.RouteEvent, Text: "x", Origin: &bus.Origin{Subject: subject, To: "x"}},
			"result":             {Kind: bus.RouteResult, CorrelationID: "c", Text: "x", ReplyTo: subject},
		} {
			w.publish("agent.route.ana", task)
			letter := bus.DeadLetter{}
			if err := json.Unmarshal(w.next(dead).Data, &letter); err != nil || !strings.Contains(letter.Reason, subject) {
				t.Errorf("%s %s: %+v, %v", kind, subject, letter, err)
			}
		}
		if len(named) > 0 {
			t.Errorf("on %s is published %s", subject, (<-named).Data)
		}
	}
	w.publish("agent.route.ana", bus.Route{Kind: bus.RouteEvent, Text: "x", Origin: &bus.Origin{Subject: "plugin.outbound.ana", To: "x"}})
	w.next(dead)
	w.silent()
}
