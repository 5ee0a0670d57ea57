//go:build unix && crashtest && long

package chaos_test

import (
	"context"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
)

// startCautious starts a host whose agent asks before each of its tools: pay
// leads to one call, pay twice to two.
func startCautious(t *testing.T) (*world, *billing, *process) {
	t.Helper()
	p := askingPlan
	p.scripts = map[string]string{"main": `rules:
  - {when: twice, after_tool: bill.pay, tool_calls: [{name: bill.look, args: {}}]}
  - {after_tool: "*", text: "${result}"}
  - {when: pay, tool_calls: [{name: bill.pay, args: {}}]}
  - {text: "What do you mean?"}
`}
	p.agents = []string{`{id: ana, model: main, channels: [chat], tools: ["bill.*"], permissions: {"bill.*": ask}}`}
	w := p.open(t)
	b := startBilling(t, w.nc, 10*time.Millisecond)
	h := newHost(t, w.config, "a")
	h.start()
	await(t, "the host", func() bool { return h.logged(`"ready"`) })
	return w, b, h
}

// An answer whose host dies right after it was taken comes again, and must not
// answer the next question, nor be told that it was of no use.
func TestAnswerCountsOnce(t *testing.T) {
	tests := map[string]struct {
		crash    string // in the life that takes the answer
		question bool   // whether another follows
	}{
		"another approval is asked": {"after-ask:1", true},
		"its tool runs":             {"in-tool:1", false},
		"its run has ended":         {"before-ack:1", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, b, h := startCautious(t)
			text := "pay"
			if tt.question {
				text = "pay twice"
			}
			w.tell(t, bus.Inbound{ID: "order", From: "ana", Text: text})
			await(t, "the first approval", func() bool { return len(w.heard(bus.KindApproval)["order"]) == 1 })
			await(t, "an acknowledgement", w.allAcknowledged)
			h.kill()
			h.start("AGENTHOST_CRASH=" + tt.crash)
			w.tell(t, bus.Inbound{ID: "yes", From: "ana", Text: "approve"})
			h.awaitExit(patience)
			h.start()
			if tt.question {
				w.checkAskedAgain(t, b)
				return
			}
			await(t, "the reply", func() bool { return len(w.heard(bus.KindReply)["order"]) == 1 })
			await(t, "an acknowledgement", w.allAcknowledged)
			w.answers.wind()
			if n := len(w.answers.msgs); n != 2 {
				t.Errorf("%d messages were said to the person, want the approval and the reply; the last is %s", n, w.answers.msgs[n-1].Data)
			}
		})
	}
}

// checkAskedAgain sees that the second call waits for an answer of its own.
func (w *world) checkAskedAgain(t testing.TB, b *billing) {
	t.Helper()
	await(t, "the second approval", func() bool { return len(w.heard(bus.KindApproval)["order"]) == 2 })
	await(t, "an acknowledgement", w.allAcknowledged)
	if n := len(b.counted()); n != 1 {
		t.Fatalf("one approval led to %d calls", n)
	}
	w.tell(t, bus.Inbound{ID: "yes again", From: "ana", Text: "approve"})
	await(t, "the reply", func() bool { return len(w.heard(bus.KindReply)["order"]) == 1 })
	if n := len(b.counted()); n != 2 {
		t.Errorf("two approvals led to %d calls", n)
	}
}

// An answer that was passed on to a run of another session comes again when its
// host dies after the run has gone on. Who gave it is told once what became of
// it, and it must not answer the next question of that run.
func TestAnswerIsPassedOnOnce(t *testing.T) {
	tests := map[string]struct {
		text  string
		waits int // approvals in the end
	}{
		"nothing else is asked":     {"pay", 0},
		"another approval is asked": {"pay twice", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, b, h := startCautious(t)
			w.fire(t, "daily", tt.text)
			await(t, "the approval", func() bool { return w.count(bus.KindApproval) == 1 })
			await(t, "an acknowledgement", w.allAcknowledged)
			h.kill()
			h.start("AGENTHOST_STALL=after-pass-on")
			w.tell(t, bus.Inbound{ID: "yes", From: "bea", Text: "approve"})
			await(t, "what comes of the answer", func() bool { return w.count(bus.KindApproval)+w.count(bus.KindNotice) == 2 })
			h.kill()
			h.start()
			await(t, "word to who has answered", func() bool { return w.count(bus.KindReply) == 1 })
			await(t, "an acknowledgement", w.allAcknowledged)
			if told := w.heard(bus.KindReply)["yes"]; len(told) != 1 || told[0].Text != "Thank you, noted." {
				t.Errorf("the answer was answered %+v", told)
			}
			if n := len(b.counted()); n != 1 {
				t.Errorf("one approval led to %d calls", n)
			}
			if waits := w.waiting(t); waits != tt.waits {
				t.Errorf("%d calls wait for an answer, want %d", waits, tt.waits)
			}
		})
	}
}

// fire brings ana a firing of a schedule that is for bea.
func (w *world) fire(t testing.TB, name, text string) {
	t.Helper()
	msg, err := bus.NewMessage(bus.RoutePrefix+"ana", bus.Route{
		ID: "f-" + name, Kind: bus.RouteSchedule, From: name, Text: text, Due: time.Now(),
		Origin: &bus.Origin{Agent: "ana", Subject: bus.OutboundPrefix + chat, To: "bea"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.send(msg); err != nil {
		t.Fatal(err)
	}
}

// waiting is how many calls wait for somebody.
func (w *world) waiting(t testing.TB) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	list, err := agents.AllWaiting(ctx, w.js)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// count is how many messages of a kind were said to people.
func (w *world) count(kind string) (n int) {
	for _, list := range w.heard(kind) {
		n += len(list)
	}
	return n
}
