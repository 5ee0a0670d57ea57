package check_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/agenthost-chaos/check"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

const log = "agent.session.ana.s1"

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A written is what a fleet has written of two messages, a1 with a call of
// bill.pay and a2.
type written struct {
	t     *testing.T
	facts check.Facts
	seq   uint64
}

func (w *written) commit(runID string, events ...run.Event) {
	last := w.seq
	w.seq++
	w.facts.Streams.Sessions = append(w.facts.Streams.Sessions, check.Message{
		Seq: w.seq, Subject: log, Header: nats.Header{"Nats-Expected-Last-Subject-Sequence": {fmt.Sprint(last)}},
		Data: encoded(w.t, session.Commit{Key: "chat/dm/p", Run: runID, Events: events}),
	})
}

func (w *written) say(out bus.Outbound) {
	w.facts.Streams.Outbound = append(w.facts.Streams.Outbound, check.Message{
		Seq: uint64(len(w.facts.Streams.Outbound) + 1), Subject: "plugin.outbound.chat", Header: nats.Header{nats.MsgIdHdr: {out.ID}}, Data: encoded(w.t, out),
	})
}

func reply(id, runID, to string) run.Event {
	return run.Event{Type: run.Replied, Reply: &run.Reply{
		ID: id, N: 1, Kind: run.KindReply, Final: true, Subject: "plugin.outbound.chat", Envelope: json.RawMessage(`{}`),
	}}
}

func text(role llm.Role, words string) run.Event {
	return run.Event{Type: run.MessageAdded, Message: &llm.Message{Role: role, Parts: []llm.Part{{Type: llm.Text, Text: words}}}}
}

func started(runID, input string) run.Event {
	return run.Event{Type: run.Started, Run: runID, Trigger: run.ByMessage, Inputs: []run.Input{{
		ID: input, Subject: "plugin.inbound.chat", Seq: 1, Envelope: json.RawMessage(`{"id":"` + input + `"}`),
	}}}
}

func whole(t *testing.T) *written {
	w := &written{t: t, facts: check.Facts{ByCall: map[string]int{}, ByPurpose: map[string]int{}}}
	for n := range 2 {
		w.answer(n+1, 0)
	}
	return w
}

// answer is the nth message of the session and its run, with what that counts as lost.
func (w *written) answer(n int, lost int64) {
	id, runID := fmt.Sprintf("a%d", n), fmt.Sprintf("r%d", n)
	begun := started(runID, id)
	begun.Lost = lost
	w.facts.Inputs = append(w.facts.Inputs, check.Input{ID: id, Session: "s", Channel: "chat", From: "p", N: n, Queue: "followup", Text: id})
	w.commit(runID, begun, text(llm.User, id), run.Event{Type: run.ModelCalled, Attempt: 1}, text(llm.Assistant, id),
		reply(runID+".1", runID, id), run.Event{Type: run.Finished, Run: runID, Outcome: run.OutcomeSettled})
	w.say(bus.Outbound{ID: runID + ".1", Run: runID, Kind: bus.KindReply, InReplyTo: id, Text: id, Final: true})
}

// stopped is a run that was stopped while the model was asked for so many milliseconds.
func (w *written) stopped(ms int64) {
	stop := &run.Error{Code: llm.CodeCancelled, Message: "Stopped."}
	said := reply("r3.1", "r3", "a3")
	said.Reply.Kind = run.KindError
	w.facts.Inputs = append(w.facts.Inputs, check.Input{ID: "a3", Session: "s", Channel: "chat", From: "p", N: 3, Queue: "followup", Text: "a3"})
	w.commit("r3", started("r3", "a3"), text(llm.User, "a3"), run.Event{Type: run.ModelCalled, Attempt: 1, MS: ms, Error: stop},
		said, run.Event{Type: run.Finished, Run: "r3", Outcome: run.OutcomeStopped, Error: stop})
	w.say(bus.Outbound{ID: "r3.1", Run: "r3", Kind: bus.KindError, InReplyTo: "a3", Final: true})
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*written)
		want string // a part of a violation; empty: none
	}{
		"nothing wrong": {func(*written) {}, ""},
		"lost": {func(w *written) {
			w.facts.Inputs = append(w.facts.Inputs, check.Input{ID: "a3", Session: "s", N: 3})
		}, "input a3 (, sequence 0) has 0 ends"},
		"answered twice": {func(w *written) {
			w.say(bus.Outbound{ID: "r9.1", Kind: bus.KindError, InReplyTo: "a2", Final: true})
		}, "input a2 (a2, sequence 0) has 2 ends"},
		"stored twice": {func(w *written) {
			w.facts.Streams.Outbound = append(w.facts.Streams.Outbound, w.facts.Streams.Outbound[0])
		}, "outbound r1.1 is stored twice"},
		"out of order": {func(w *written) {
			o := w.facts.Streams.Outbound
			o[0], o[1] = o[1], o[0]
		}, "session s: message 1 is answered after message 2"},
		"another text":    {func(w *written) { w.facts.Inputs[0].Text = "b" }, `says "a1", want "b"`},
		"not in the load": {func(w *written) { w.facts.Inputs = w.facts.Inputs[1:] }, `ends "a1", which is not in the load`},
		"not published":   {func(w *written) { w.facts.Streams.Outbound = w.facts.Streams.Outbound[:1] }, "reply r2.1 is in a log and was not published"},
		"not in a log":    {func(w *written) { w.facts.Streams.Sessions = w.facts.Streams.Sessions[:1] }, "reply r2.1 was published and is in no log"},
		"a lost commit":   {func(w *written) { w.facts.Streams.Sessions = w.facts.Streams.Sessions[1:] }, `expected "1" as the last one, which is 0`},
		"not over":        {func(w *written) { w.commit("r3", started("r3", "x")) }, "run r3 is not over"},
		"in two runs":     {func(w *written) { w.commit("r3", started("r3", "a1")) }, "input a1 is in the runs r1 and r3"},
		"effect unknown":  {func(w *written) { w.facts.ByCall["r1.c1"] = 1 }, "call r1.c1 had an effect and is in no log"},
		"effect repeated": {func(w *written) { w.facts.ByPurpose["notes.put {}"] = 2 }, "notes.put {} had 2 effects"},
		"spent too little": {func(w *written) {
			w.facts.Paid, w.facts.Price, w.facts.Spent = 3, 10, map[string]int64{"ana": 20}
		}, "the model was paid for 3 calls, the records count 2"},
		"stopped as its answer came": {func(w *written) {
			w.facts.Paid, w.facts.Price, w.facts.Slow, w.facts.Spent = 3, 10, 2*time.Second, map[string]int64{"ana": 20}
			w.stopped(2001)
		}, ""},
		"stopped before its answer came": {func(w *written) {
			w.facts.Paid, w.facts.Price, w.facts.Slow, w.facts.Spent = 3, 10, 2*time.Second, map[string]int64{"ana": 20}
			w.stopped(1999)
		}, "the model was paid for 3 calls, the records count 2"},
		"not delivered": {func(w *written) {
			w.facts.Delivered = check.Delivered{"chat": {"r1.1"}}
		}, "outbound r2.1 was not delivered on channel chat"},
		"delivered out of order": {func(w *written) {
			w.facts.Delivered = check.Delivered{"chat": {"r2.1", "r1.1"}}
		}, "channel chat delivered r2.1 before what was said earlier"},
		"delivered by nobody": {func(w *written) {
			w.facts.Delivered = check.Delivered{"chat": {"r1.1", "r2.1", "r3.1"}}
		}, "channel chat delivered r3.1, which nobody published"},
		"an owner of the account": {func(w *written) {
			w.facts.Streams.Outbound = append(w.facts.Streams.Outbound, check.Message{Seq: 3, Subject: "agent.owner.chat", Data: []byte("host-0")})
		}, ""},
		"delivered in order": {func(w *written) {
			w.facts.Delivered = check.Delivered{"chat": {"r1.1", "r2.1"}}
		}, ""},
		"not in the records": {func(w *written) {
			w.commit("r3", run.Event{Type: run.ModelCalled, Attempt: 1, Cost: 7})
		}, "the logs of ana have calls for 7 micro-cents, its records 0"},
		"a reservation that was given back": {func(w *written) { w.answer(3, 7) }, ""},
		"an order that nothing answers": {func(w *written) {
			w.facts.Inputs = append(w.facts.Inputs, check.Input{ID: "o", Text: "/stop", Order: true})
		}, "order o (/stop, sequence 0) is in no log"},
		"a snapshot of something else": {func(w *written) {
			w.facts.Streams.Sessions = append(w.facts.Streams.Sessions, check.Message{
				Seq: 9, Subject: "agent.snapshot.ana.s1", Data: []byte(`{"v":1,"seq":1,"state":{"phase":"idle"}}`),
			})
		}, "snapshot ana.s1 differs from the fold up to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := whole(t)
			c.harm(w)
			found := check.Check(w.facts).Violations
			if c.want == "" && len(found) > 0 || c.want != "" && !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("got %q, want %q", found, c.want)
			}
		})
	}
}

// Ticks are counted by the times that they were due at, and a pause is between two of these.
func TestCheckCountsTicks(t *testing.T) {
	w := whole(t)
	for n, second := range []int{3, 9, 5} {
		id := fmt.Sprintf("t%d", n)
		due := started(id, id)
		due.Inputs[0].Subject = "agent.due.bob"
		due.Inputs[0].Envelope = encoded(t, bus.Route{Due: time.Unix(int64(second), 0)})
		w.commit(id, due, run.Event{Type: run.Finished, Run: id, Outcome: run.OutcomeSettled})
	}
	found := check.Check(w.facts)
	if found.Ticks != 3 || found.Pause != 4*time.Second {
		t.Errorf("got %d ticks, at most %s apart", found.Ticks, found.Pause)
	}
}
