//go:build long

package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go"
)

// A task for an agent that no host serves has its error result at its deadline, wherever
// the host is in its rounds, and after ten minutes when it has none.
func TestTaskOfUnknownAgentIsEndedInTime(t *testing.T) {
	const late = time.Second // is what it may be
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t, echoing("ana", "demo"))
		came := w.results("results.of.ghost")
		n := 0
		for _, within := range []time.Duration{-time.Minute, 0, 100 * time.Millisecond, 3 * time.Second, 9 * time.Second, 11 * time.Second, 10 * time.Minute, time.Hour} {
			for _, pause := range []time.Duration{10 * time.Second, 1300 * time.Millisecond, 4 * time.Second, 8700 * time.Millisecond} {
				time.Sleep(pause)
				began := time.Now()
				n++
				w.task("ghost", fmt.Sprint(n), "results.of.ghost", within)
				r := lateResult(t, came)
				want := min(max(within, 0), 10*time.Minute)
				if took := time.Since(began); r.InReplyTo != fmt.Sprint(n) || took < want || took > want+late {
					t.Errorf("a task with a deadline in %s, %s after the last: %s ended after %s, want %s", within, pause, r.InReplyTo, took, want)
				}
			}
		}
		w.stop()
	})
}

// lateResult is the next result, which may be long in coming.
func lateResult(t *testing.T, came <-chan *nats.Msg) (r bus.Route) {
	t.Helper()
	select {
	case m := <-came:
		if err := json.Unmarshal(m.Data, &r); err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Minute):
		t.Fatal("no result comes")
	}
	return r
}

// The task that is due first is ended first, however many wait.
func TestTasksOfUnknownAgentsAreEndedInTurn(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t, echoing("ana", "demo"))
		came := w.results("results.of.*")
		time.Sleep(time.Second)
		began := time.Now()
		for _, within := range []int{8, 2, 6, 4} {
			w.task(fmt.Sprint("ghost", within), fmt.Sprint(within), "results.of.ghost", time.Duration(within)*time.Second)
		}
		for _, want := range []int{2, 4, 6, 8} {
			r := lateResult(t, came)
			if took := time.Since(began); r.InReplyTo != fmt.Sprint(want) || took > time.Duration(want+1)*time.Second {
				t.Errorf("got the result of %s after %s, want that of %d then", r.InReplyTo, took, want)
			}
		}
		w.stop()
	})
}
