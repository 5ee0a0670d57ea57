package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/session"
	"agenthost/tools"
)

const billing = `
rules:
  - {after_tool: pay, text: "It says: ${result}"}
  - {when: pay, tool_calls: [{name: pay, args: {}}]}
  - {text: "You said: ${text}"}
`

// biller answers on the channels ana and ops, and pays when it is told to.
func biller(n *atomic.Int64) actor {
	a := bot("ana", script(billing), has(counter(n)))
	a.cfg.Channels = append(a.cfg.Channels, agents.Binding{Channel: "ops"}, agents.Binding{Channel: "ana", Instance: "two"})
	return a
}

// fire brings a firing of a schedule that is for an address.
func (w *world) fire(name string, to bus.Origin) { w.fireTo("pay", name, to) }

func (w *world) fireTo(text, name string, to bus.Origin) {
	w.t.Helper()
	to.Agent = "ana"
	w.publish("agent.due.ana", bus.Route{ID: "f-" + name, Kind: bus.RouteSchedule, From: name, Text: text, Due: time.Now(), Origin: &to})
}

// What a run of the clock asks in a chat is answered in that chat.
func TestScheduleIsAnsweredInItsChat(t *testing.T) {
	t.Parallel()
	bea := bus.Origin{Subject: "plugin.outbound.ana", To: "bea"}
	team := bus.Origin{Subject: "plugin.outbound.ana.two", Chat: "team", Thread: "t1"}
	tests := map[string]struct {
		at      bus.Origin
		channel string
		answer  bus.Inbound
		named   bool // the answer names the call
		says    string
		effects int64
	}{
		"word":            {at: bea, channel: "ana", answer: bus.Inbound{From: "bea", Text: "approve"}, says: "It says: paid", effects: 1},
		"word, with case": {at: bea, channel: "ana", answer: bus.Inbound{From: "bea", Text: " Approve session"}, says: "It says: paid", effects: 1},
		"chat known":      {at: bea, channel: "ana", answer: bus.Inbound{From: "bea", Chat: "c7", Text: "approve"}, says: "It says: paid", effects: 1},
		"denied":          {at: bea, channel: "ana", answer: bus.Inbound{From: "bea", Text: "deny"}, says: "denied"},
		"call":            {at: bea, channel: "ana", answer: bus.Inbound{From: "bea", Text: "approve"}, named: true, says: "It says: paid", effects: 1},
		"group": {
			at: team, channel: "ana.two", answer: bus.Inbound{From: "cyd", Group: true, Chat: "team", Thread: "t1", Text: "approve"},
			says: "It says: paid", effects: 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			w := newWorld(t, biller(&n))
			w.fire("daily", tt.at)
			asked := w.hear()
			if asked.Kind != "approval" || asked.To != tt.at.To || asked.Chat != tt.at.Chat {
				t.Fatalf("heard %+v", asked)
			}
			if tt.named {
				tt.answer.Answers = asked.Call
			}
			w.say(tt.channel, tt.answer)
			var noted, end bus.Outbound
			for range 2 {
				if out := w.hear(); out.Kind == "reply" {
					noted = out
				} else {
					end = out
				}
			}
			if noted.Text != "Thank you, noted." || !noted.Final || noted.To != tt.answer.From {
				t.Errorf("the answer is answered %+v", noted)
			}
			if end.Kind != "notice" || !strings.Contains(end.Text, tt.says) || end.To != tt.at.To || n.Load() != tt.effects {
				t.Errorf("the run says %+v, %d effects, want %q, %d", end, n.Load(), tt.says, tt.effects)
			}
			w.settled()
			w.silent()
		})
	}
}

// An answer to a scheduled run neither joins nor interrupts the run under way in the chat.
func TestScheduleIsAnsweredDuringARun(t *testing.T) {
	t.Parallel()
	for _, queue := range []session.Queue{session.Steer, session.Interrupt} {
		t.Run(string(queue), func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			release := make(chan struct{})
			hold := tools.Tool{Name: "hold", Schema: anything, ReadOnly: true, Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
				select {
				case <-release:
				case <-ctx.Done():
				}
				return tools.Result{Text: "held"}, nil
			}}
			a := bot("ana", script(`
rules:
  - {after_tool: "*", text: "It says: ${result}"}
  - {when: pay, tool_calls: [{name: pay, args: {}}]}
  - {when: hold, tool_calls: [{name: hold, args: {}}]}
  - {text: "You said: ${text}"}
`), has(counter(&n), hold))
			a.cfg.Session.Queue = queue
			w := newWorld(t, a)
			w.say("ana", bus.Inbound{ID: "1", From: "bea", Text: "hold"})
			w.eventually("running", func() bool { return w.fleet.Status()[0].Running == 1 })
			w.fire("daily", bus.Origin{Subject: "plugin.outbound.ana", To: "bea"})
			if out := w.hear(); out.Kind != "approval" {
				t.Fatalf("heard %+v", out)
			}
			w.say("ana", bus.Inbound{From: "bea", Text: "approve"})
			w.wantTold("bea: It says: paid", "bea: Thank you, noted.")
			close(release)
			if out := w.expect("reply", "It says: held"); out.InReplyTo != "1" || n.Load() != 1 {
				t.Errorf("heard %+v, %d effects", out, n.Load())
			}
			w.settled()
			w.silent()
		})
	}
}

// What is said elsewhere, by somebody else, or could answer two questions, is a
// message like any other.
func TestScheduleIsNotAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	bea := bus.Origin{Subject: "plugin.outbound.ana", To: "bea"}
	team := bus.Origin{Subject: "plugin.outbound.ana", Chat: "team"}
	tests := map[string]struct {
		asked   []bus.Origin
		channel string
		said    bus.Inbound
	}{
		"nothing asked":   {nil, "ana", bus.Inbound{From: "bea", Text: "approve"}},
		"another person":  {[]bus.Origin{bea}, "ana", bus.Inbound{From: "cyd", Text: "approve"}},
		"another channel": {[]bus.Origin{bea}, "ops", bus.Inbound{From: "bea", Text: "approve"}},
		"another chat":    {[]bus.Origin{team}, "ana", bus.Inbound{From: "bea", Group: true, Chat: "staff", Text: "approve"}},
		"another thread":  {[]bus.Origin{team}, "ana", bus.Inbound{From: "bea", Group: true, Chat: "team", Thread: "t1", Text: "approve"}},
		"of a group":      {[]bus.Origin{bea}, "ana", bus.Inbound{From: "bea", Group: true, Chat: "team", Text: "approve"}},
		"no answer":       {[]bus.Origin{bea}, "ana", bus.Inbound{From: "bea", Text: "approve of it"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			w := newWorld(t, biller(&n))
			for i, at := range tt.asked {
				w.fire([]string{"daily", "weekly"}[i], at)
				if out := w.hear(); out.Kind != "approval" {
					t.Fatalf("heard %+v", out)
				}
			}
			w.settled()
			w.say(tt.channel, tt.said)
			w.expect("reply", "You said: "+tt.said.Text)
			if n.Load() != 0 {
				t.Errorf("%d effects", n.Load())
			}
		})
	}
	t.Run("named on another channel", func(t *testing.T) {
		var n atomic.Int64
		w := newWorld(t, biller(&n))
		w.fire("daily", bea)
		w.say("ops", bus.Inbound{ID: "other", From: "bea", Text: "approve", Answers: w.hear().Call})
		if out := w.hear(); out.Kind != "error" || out.InReplyTo != "other" || n.Load() != 0 {
			t.Errorf("heard %+v, %d effects", out, n.Load())
		}
	})
	t.Run("settled", func(t *testing.T) {
		var n atomic.Int64
		w := newWorld(t, biller(&n))
		w.fire("daily", bea)
		asked := w.hear()
		w.say("ana", bus.Inbound{From: "bea", Text: "deny", Answers: asked.Call})
		w.hear()
		w.hear()
		for name, in := range map[string]bus.Inbound{
			"again":       {ID: "again", From: "bea", Text: "approve", Answers: asked.Call},
			"never asked": {ID: "never", From: "bea", Text: "approve", Answers: strings.Repeat("a", 20)},
		} {
			w.say("ana", in)
			if out := w.hear(); out.Kind != "error" || out.InReplyTo != in.ID || n.Load() != 0 {
				t.Errorf("%s: heard %+v, %d effects", name, out, n.Load())
			}
		}
	})
}

// Who says /stop in a chat ends what has asked there, whoever has begun it.
func TestStopEndsWhatAskedHere(t *testing.T) {
	t.Parallel()
	bea := bus.Origin{Subject: "plugin.outbound.ana", To: "bea"}
	var n atomic.Int64
	w := newWorld(t, biller(&n))
	for _, name := range []string{"daily", "weekly"} {
		w.fire(name, bea)
		if out := w.hear(); out.Kind != "approval" {
			t.Fatalf("heard %+v", out)
		}
	}
	w.fire("other", bus.Origin{Subject: "plugin.outbound.ana", To: "cyd"})
	other := w.hear()
	w.settled()
	w.say("ana", bus.Inbound{ID: "enough", From: "bea", Text: "/stop"})
	told := map[string]int{}
	for range 3 {
		told[w.hear().Text]++
	}
	if told["I'm stopping what asked you here."] != 1 || told["Stopped."] != 2 {
		t.Errorf("heard %v", told)
	}
	w.settled()
	w.say("ana", bus.Inbound{From: "bea", Text: "approve"})
	w.expect("reply", "You said: approve")
	w.say("ana", bus.Inbound{From: "bea", Text: "/stop"})
	w.expect("error", "There is nothing to stop.")
	w.say("ana", bus.Inbound{From: "cyd", Text: "approve", Answers: other.Call})
	w.hear()
	w.hear()
	if n.Load() != 1 {
		t.Errorf("%d effects", n.Load())
	}
}

// A question to which anything is an answer takes the next message of its chat.
func TestScheduleAsksAnything(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options []string
		said    string
		taken   bool
	}{
		"anything":        {nil, "the blue one, please", true},
		"an option":       {[]string{"Blue", "Red"}, "blue", true},
		"no option":       {[]string{"Blue", "Red"}, "green", false},
		"a word of yours": {nil, "/stop it", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?", Options: tt.options}))))
			w.say("ana", bus.Inbound{From: "bea", Text: "hello"}) // her session has its log
			w.hear()
			w.fireTo("ask", "daily", bus.Origin{Subject: "plugin.outbound.ana", To: "bea"})
			if out := w.hear(); out.Kind != "question" {
				t.Fatalf("heard %+v", out)
			}
			w.say("ana", bus.Inbound{From: "cyd", Text: tt.said})
			if out := w.hear(); out.Kind != "reply" || out.To != "cyd" || out.Text == "Thank you, noted." {
				t.Errorf("somebody else is answered %+v", out)
			}
			w.say("ana", bus.Inbound{From: "bea", Text: tt.said})
			heard := []string{w.hear().Text}
			if tt.taken {
				heard = append(heard, w.hear().Text)
			}
			if slices.Contains(heard, "Thank you, noted.") != tt.taken {
				t.Errorf("heard %q", heard)
			}
			w.silent()
		})
	}
}
