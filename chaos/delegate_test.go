//go:build unix && long

package chaos_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The channels of the agents that hand work on: from who asks at front to the
// agent of desk, and from there to one that has no channel.
const (
	front = "front"
	desk  = "desk"
)

// chainPlan are three agents. What is said at front goes through all of them
// and back, what is said at desk is answered there.
var chainPlan = plan{
	scripts: map[string]string{
		"first": `rules:
  - {after_tool: delegate, text: "${result}"}
  - {when: for ever, tool_calls: [{name: delegate, args: {to: second, task: "${text}", timeout: 3s}}]}
  - {tool_calls: [{name: delegate, args: {to: second, task: "${text}"}}]}
`,
		"second": `rules:
  - {after_tool: delegate, text: "${result}"}
  - {when: desk, delay: 20ms, text: "${text}"}
  - {when: for ever, delay: 10m, text: "${text}"}
  - {tool_calls: [{name: delegate, args: {to: third, task: "${text}"}}]}
`,
		"third": `rules: [{delay: 200ms, text: "${text}"}]`,
	},
	agents: []string{
		"{id: first, model: first, channels: [front], tools: [delegate], delegates: [second]}",
		"{id: second, model: second, channels: [desk], tools: [delegate], delegates: [third]}",
		"{id: third, model: third}",
	},
}

// Who is busy with the task of another agent answers everybody else as fast as
// before.
func TestDelegatesDelayNobody(t *testing.T) { // not parallel: it measures
	w := chainPlan.open(t)
	h := newHost(t, w.config, "a")
	h.start()
	each := pick(12, 100)
	w.hold(talk{channel: desk, people: 20, each: 1})
	w.audit()
	w.hold(talk{channel: desk, people: 20, each: each, every: 100 * time.Millisecond, from: 1})
	w.audit()
	w.hold(
		talk{channel: desk, people: 20, each: each, every: 100 * time.Millisecond, from: 1 + each},
		talk{channel: front, people: 40, each: each / 4, every: 300 * time.Millisecond},
	)
	w.audit()
	quiet, busy := w.took(desk, 1, 1+each, 99), w.took(desk, 1+each, 1+2*each, 99)
	if limit := max(5*quiet, quiet+500*time.Millisecond); busy > limit {
		t.Errorf("99 of 100 were answered within %v, and beside delegates within %v, want %v at most", quiet, busy, limit)
	}
	t.Logf("99 of 100 answers within %v alone, %v beside delegates (those: half within %v); %s", quiet.Round(time.Millisecond),
		busy.Round(time.Millisecond), w.took(front, 0, each, 50).Round(time.Millisecond), w.summary())
}

func TestDelegatesOfKilledHosts(t *testing.T) {
	t.Parallel()
	rng, w := newRand(t), chainPlan.open(t)
	h := newHost(t, w.config, "a")
	h.start()
	said := w.begin(
		talk{channel: front, people: pick(15, 40), each: pick(3, 10), every: pick(time.Second, 3*time.Second)},
		talk{channel: desk, people: 5, each: pick(10, 40), every: pick(300*time.Millisecond, 700*time.Millisecond)},
	)
	kills := breakUntil(said, rng, 300*time.Millisecond, 1500*time.Millisecond, func() {
		w.rest()
		h.kill()
		h.start()
	})
	w.audit()
	y := reconcile(t, w.calls(), w.done())
	t.Logf("host killed %d times: %v; %s", kills, y, w.summary())
}

// Who is asked never answers, dies over it, and then answers too late.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	w := chainPlan.open(t)
	h := newHost(t, w.config, "a")
	h.start()
	if !w.say(statement{channel: front, from: "ana", text: "for ever"}) {
		t.FailNow()
	}
	var task bus.Route
	await(t, "the task", func() bool { return w.routed(bus.RouteDelegate, &task) })
	h.kill()
	h.start()
	await(t, "the end of the wait", w.allAnswered)
	await(t, "an acknowledgement of every message", w.allAcknowledged)
	await(t, "the result of the callee to be dropped", func() bool { return h.logged("late result dropped") })
	if refused := w.deliverLate(t, task); !strings.Contains(refused, "nothing waits for this") {
		t.Errorf("the late result was answered %q", refused)
	}
	await(t, "an acknowledgement of every message", w.allAcknowledged)
	if err := w.answers.wind(); err != nil || len(w.answers.msgs) != 1 {
		t.Fatalf("%d messages were said to the person, %v; want one", len(w.answers.msgs), err)
	}
	t.Logf("the person hears %s", w.answers.msgs[0].Data)
}

// routed reads the first message of a kind between agents into r, when it is
// there.
func (w *world) routed(kind string, r *bus.Route) bool {
	routes := tape{js: w.js, stream: bus.RoutesStream}
	if routes.wind() != nil {
		return false
	}
	return slices.ContainsFunc(routes.msgs, func(msg *jetstream.RawStreamMsg) bool {
		return strings.HasPrefix(msg.Subject, bus.RoutePrefix) && json.Unmarshal(msg.Data, r) == nil && r.Kind == kind
	})
}

// deliverLate sends the result of a task that nobody waits for any more, and
// returns what its sender is told.
func (w *world) deliverLate(t testing.TB, task bus.Route) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	told, err := w.nc.SubscribeSync("told")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(bus.Route{
		ID: "late", Kind: bus.RouteResult, From: "second", CorrelationID: task.CorrelationID, Text: "at last", ReplyTo: "told",
	})
	if err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg(task.ReplyTo)
	msg.Data = data
	if err := w.send(msg); err != nil {
		t.Fatal(err)
	}
	answer, err := told.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.Data)
}

// done are the calls that have a result, each as one effect: what a delegate
// does is not counted outside.
func (w *world) done() map[string]int {
	count := map[string]int{}
	for id, c := range w.calls() {
		if c.last.OK {
			count[id] = 1
		}
	}
	return count
}

// took is how long that many percent waited for an answer, of those whose
// message was one of from up to to.
func (w *world) took(channel string, from, to, percent int) time.Duration {
	w.t.Helper()
	var all []time.Duration
	for _, msg := range w.answers.msgs {
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			w.t.Fatal(err)
		}
		if s := w.said[out.InReplyTo]; s.channel == channel && s.n >= from && s.n < to {
			all = append(all, msg.Time.Sub(s.begun))
		}
	}
	if len(all) == 0 {
		w.t.Fatalf("no answers on %s", channel)
	}
	slices.Sort(all)
	return all[(len(all)-1)*percent/100]
}
