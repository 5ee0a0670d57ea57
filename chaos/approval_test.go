//go:build unix && long

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"agenthost/agents"
	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// askingPlan is an agent that may not pay before somebody has said yes.
var askingPlan = plan{
	scripts: map[string]string{"main": `rules:
  - {after_tool: "*", text: "${text}: ${result}"}
  - {when: pay, tool_calls: [{name: bill.pay, args: {what: "${text}"}}]}
  - {text: "${text}"}
`},
	sources: "services: {bill: {}}",
	agents:  []string{`{id: ana, model: main, channels: [chat], tools: ["bill.*"]}`},
}

// The answers of one person, all given at the same time. What they are is said
// by letters: c in the chat, r by a route.
var answersOf = []string{"c", "c", "r", "r", "cr", "cr", "rr", "rr"}

// askAll has everybody say something that leads to an approval, and waits for
// the approvals.
func (w *world) askAll(t testing.TB) {
	t.Helper()
	for p := range answersOf {
		w.tell(t, bus.Inbound{ID: fmt.Sprintf("pay-%d", p), From: fmt.Sprintf("p%d", p), Text: fmt.Sprintf("pay %d", p)})
	}
	await(t, "the approvals", func() bool { return len(w.heard(bus.KindApproval)) == len(answersOf) })
}

// tell publishes a message on the channel chat.
func (w *world) tell(t testing.TB, in bus.Inbound) {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg(bus.InboundPrefix + chat)
	msg.Data = data
	if err := w.publish(msg); err != nil {
		t.Fatal(err)
	}
}

// heard are the messages of a kind that were said to people, by what they
// answer.
func (w *world) heard(kind string) map[string][]bus.Outbound {
	list := map[string][]bus.Outbound{}
	if w.answers.wind() != nil {
		return nil
	}
	for _, msg := range w.answers.msgs {
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			w.t.Error(err)
		}
		if out.Kind == kind {
			list[out.InReplyTo] = append(list[out.InReplyTo], out)
		}
	}
	return list
}

// answerAll gives all answers at once. The returned function reports whether
// each but the first of every person was refused, and whether the first was
// not.
func (w *world) answerAll(t testing.TB) (told func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waiting, err := agents.AllWaiting(ctx, w.js)
	if err != nil || len(waiting) != len(answersOf) {
		t.Fatalf("%d calls wait, %v; want %d", len(waiting), err, len(answersOf))
	}
	v := &verdicts{taken: map[string]int{}, refused: map[string]int{}}
	sub, err := w.nc.Subscribe("told.*", v.hear)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sub.Unsubscribe() })
	var wg sync.WaitGroup
	for p, ways := range answersOf {
		call := w.heard(bus.KindApproval)[fmt.Sprintf("pay-%d", p)][0].Call
		for n, way := range ways {
			wg.Go(func() { w.answer(t, waiting, call, string(way), p, n) })
		}
	}
	wg.Wait()
	return func() bool { return v.right(w.heard(bus.KindError)) }
}

// answer gives one answer. In a chat the id of the call is only needed where
// somebody else may have answered before.
func (w *world) answer(t testing.TB, waiting []agents.Waiting, id, way string, p, n int) {
	if way == "c" {
		in := bus.Inbound{ID: fmt.Sprintf("answer-%d", p), From: fmt.Sprintf("p%d", p), Text: "approve"}
		if len(answersOf[p]) > 1 {
			in.Answers = id
		}
		w.tell(t, in)
		return
	}
	for _, call := range waiting {
		if call.ID != id {
			continue
		}
		msg, err := agents.AnswerMessage(call, "console", "approve", "", fmt.Sprintf("told.%d", p))
		if err == nil {
			err = w.send(msg)
		}
		if err != nil {
			t.Errorf("answer %d of person %d: %v", n, p, err)
		}
		return
	}
	t.Errorf("nothing waits under %s", id)
}

// verdicts are what became of the answers by route.
type verdicts struct {
	mu             sync.Mutex
	taken, refused map[string]int // by the subject that was told
}

func (v *verdicts) hear(msg *nats.Msg) {
	route := bus.Route{}
	if json.Unmarshal(msg.Data, &route) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if route.Error != nil {
		v.refused[msg.Subject]++
	} else {
		v.taken[msg.Subject]++
	}
}

// right reports whether of every person's answers one was taken and the others
// were refused; errors are those that were said in the chats.
func (v *verdicts) right(errors map[string][]bus.Outbound) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, ways := range answersOf {
		subject := fmt.Sprintf("told.%d", p)
		refused := v.refused[subject] + len(errors[fmt.Sprintf("answer-%d", p)])
		if refused != len(ways)-1 || v.taken[subject] > 1 {
			return false
		}
	}
	return true
}

// expectFinals waits for one reply to everybody that says that the tool has
// run, and for all the rest to be done with.
func (w *world) expectFinals(t testing.TB) {
	t.Helper()
	await(t, "a reply to everybody", func() bool { return len(w.heard(bus.KindReply)) >= len(answersOf) })
	await(t, "an acknowledgement of every message", w.allAcknowledged)
	await(t, "all logs", func() bool { return w.sessions.wind() == nil })
	replies := w.heard(bus.KindReply)
	for p := range answersOf {
		got := replies[fmt.Sprintf("pay-%d", p)]
		if want := fmt.Sprintf("pay %d: done", p); len(got) != 1 || got[0].Text != want || !got[0].Final {
			t.Errorf("person %d is answered %+v, want once %q", p, got, want)
		}
	}
}
