package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/waittest"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// hot is an agent that is divided.
func hot(partitions int) actor {
	return actor{
		cfg:    agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "ana"}}, Partitions: partitions, Limits: agents.Limits{Concurrency: 8}},
		script: `rules: [{text: "${text}"}]`,
	}
}

// beside starts one more host on the bus of w.
func (w *world) beside(name string, actors ...actor) *world {
	w.t.Helper()
	other := &world{t: w.t, bus: w.bus, out: w.out, change: func(o *engine.Options) { o.Host = name }}
	other.start(actors...)
	return other
}

// divide gives the agent of a host another number of partitions.
func (w *world) divide(partitions int) {
	w.t.Helper()
	r, a := w.fleet.Runtime("ana"), hot(partitions)
	if err := w.fleet.Change(w.t.Context(), []*engine.Runtime{r}, []func(){func() { r.Change(a.cfg, w.kit(a)) }}); err != nil {
		w.t.Fatal(err)
	}
}

// agreed is what hosts say of the partitions of an agent.
type agreed struct {
	Partitions int
	Settled    bool
}

// layoutOf is what the hosts have agreed on.
func (w *world) layoutOf(agent string) (l agreed) {
	w.t.Helper()
	kv, err := w.bus.JS.KeyValue(w.t.Context(), bus.LanesBucket)
	if err != nil {
		w.t.Fatal(err)
	}
	if entry, err := kv.Get(w.t.Context(), "partitions."+agent); err == nil {
		_ = json.Unmarshal(entry.Value(), &l)
	}
	return l
}

// persons write numbered messages; answers are what each has heard.
func (w *world) write(persons, from, to int) {
	w.t.Helper()
	for n := from; n < to; n++ {
		for p := range persons {
			w.say("ana", bus.Inbound{ID: fmt.Sprintf("m%d-%d", p, n), From: fmt.Sprint("p", p), Text: fmt.Sprint(n)})
		}
	}
}

// listening collects n replies; the check that it returns waits for them, and sees that
// each person has heard theirs in order, once.
func (w *world) listening(persons, each int) (check func()) {
	heard, done := map[string][]string{}, make(chan error, 1)
	go func() {
		for range persons * each {
			out := bus.Outbound{}
			select {
			case m := <-w.out:
				if err := json.Unmarshal(m.Data, &out); err != nil || out.Kind != "reply" {
					done <- fmt.Errorf("heard %s: %w", m.Data, err)
					return
				}
			case <-time.After(waittest.Within):
				done <- errors.New("nothing is said any more")
				return
			}
			heard[out.To] = append(heard[out.To], out.Text)
		}
		done <- nil
	}()
	return func() {
		w.t.Helper()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		var want []string
		for n := range each {
			want = append(want, fmt.Sprint(n))
		}
		for p := range persons {
			if got := heard[fmt.Sprint("p", p)]; !slices.Equal(got, want) {
				w.t.Errorf("p%d has heard %v", p, got)
			}
		}
		w.silent()
	}
}

// Messages of a divided agent are answered by its partitions: once, and in order. What the
// log has names where they were published.
func TestPartitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(4))
	const persons, each = 20, 5
	check := w.listening(persons, each)
	w.write(persons, 0, each)
	check()
	w.settled()
	stream, err := w.bus.JS.Stream(t.Context(), bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("agent.part.>"))
	if err != nil {
		t.Fatal(err)
	}
	handed := uint64(0)
	for subject, n := range info.State.Subjects {
		if !strings.HasPrefix(subject, "agent.part.ana.") {
			t.Errorf("there is %s", subject)
		}
		handed += n
	}
	if handed != persons*each || len(info.State.Subjects) != 4 {
		t.Errorf("%d messages on %d subjects, want %d on 4", handed, len(info.State.Subjects), persons*each)
	}
	events := w.log("ana", session.DM("ana", "", "p3"))
	for _, e := range events {
		for _, in := range e.Inputs {
			rec, err := w.parts.Reader.Get(t.Context(), bus.InboundStream, in.Seq)
			if err != nil || rec.Subject != in.Subject || !strings.Contains(string(rec.Data), in.ID) {
				t.Errorf("input %s is not message %d on %s: %v", in.ID, in.Seq, in.Subject, err)
			}
		}
	}
}

// The number changes at once also while no message comes, on the host that has the agent.
func TestPartitionsOfAnAgentAtRestChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(0))
	w.say("ana", bus.Inbound{From: "p0", Text: "hello"})
	w.expect("reply", "hello")
	for _, n := range []int{4, 0, 2} {
		w.divide(n)
		waittest.Until(t, fmt.Sprint("there are ", n), func() bool { l := w.layoutOf("ana"); return l.Settled && l.Partitions == n })
	}
	w.say("ana", bus.Inbound{From: "p0", Text: "still here"})
	w.expect("reply", "still here")
}

// A session whose former partition is at work moves when that is done. Others move at once.
func TestSessionsMoveWhenTheirPartitionIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(4))
	begun, release := make(chan string, 100), make(chan struct{})
	w.hook(hooks.BeforeModelCall, hooks.Options{Timeout: time.Minute}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		begun <- call.Session
		if strings.HasSuffix(call.Session, "/slow") {
			<-release
		}
		return hooks.Outcome{}, nil
	})
	w.say("ana", bus.Inbound{From: "slow", Text: "first"})
	<-begun
	waittest.Until(t, "there are 4", func() bool { return w.layoutOf("ana").Settled })
	w.divide(0)
	w.say("ana", bus.Inbound{From: "slow", Text: "second"})
	for p := range 40 { // some ten are in the partition that is at work
		w.say("ana", bus.Inbound{From: fmt.Sprint("p", p), Text: "hello"})
	}
	for range 20 {
		w.expect("reply", "hello")
		if got := <-begun; strings.HasSuffix(got, "/slow") {
			t.Error("the session is worked on in two places")
		}
	}
	close(release)
	var heard []string
	for len(heard) < 2 {
		if out := w.hear(); out.To == "slow" {
			heard = append(heard, out.Text)
		}
	}
	if !slices.Equal(heard, []string{"first", "second"}) {
		t.Errorf("heard %v", heard)
	}
}
