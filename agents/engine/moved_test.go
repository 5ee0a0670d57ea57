package engine_test

import (
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// A task that is sent again while its run waits for a person, or while it waits behind such a run,
// gets its result where it asks for it now. It may take a day until a person answers, and the
// program that has sent it may have started again meanwhile.
func TestWaitingTaskSentAgainNamesWhereItsResultGoes(t *testing.T) {
	for name, crashes := range map[string]bool{"": false, "and the host dies": true} {
		t.Run(name, func(t *testing.T) {
			var paid atomic.Int64
			inCrashWorld(t, func(w *crashWorld) {
				w.model.call = "pay"
				task := func(id, to string) {
					w.publish("agent.route.ana", bus.Route{ID: id, Kind: bus.RouteDelegate, From: "cli", CorrelationID: "c", Text: id, ReplyTo: to})
					w.pass()
				}
				results := func(subject string) <-chan *nats.Msg { // on a connection that outlives the host
					came := make(chan *nats.Msg, 100)
					if _, err := w.js.Conn().ChanSubscribe(subject, came); err != nil {
						t.Fatal(err)
					}
					return came
				}
				former, waits, behind := results("former.>"), results("now.waits"), results("now.behind")
				task("pay", "former.waits")
				task("behind", "former.behind")
				task("pay", "now.waits")
				task("behind", "now.behind")
				task("behind", "now.behind")
				if n := len(w.committed(run.InputMoved)); n != 2 {
					t.Errorf("the log notes %d times that a result goes elsewhere, want 2", n)
				}
				if crashes {
					w.crash()
					w.begin()
					w.pass()
				}
				open, err := ask.All(w.t.Context(), w.js)
				if err != nil || len(open) != 1 {
					t.Fatalf("%d approvals are open, %v", len(open), err)
				}
				w.send("agent.route.ana", bus.Route{ID: "yes", Kind: bus.RouteResult, From: "cli", Door: bus.DoorCLI, CorrelationID: open[0].ID, Text: "approve"})
				time.Sleep(time.Minute)
				for to, came := range map[string]int{"former subject": len(former), "subject of the run": len(waits), "subject of what waited": len(behind)} {
					if want := map[bool]int{true: 0, false: 1}[to == "former subject"]; came != want {
						t.Errorf("the %s has %d results, want %d", to, came, want)
					}
				}
				if paid.Load() != 1 {
					t.Errorf("paid %d times, want once", paid.Load())
				}
				w.settled()
				if _, err := run.Replay(w.log("ana", session.Key("route/program:cli/c"))); err != nil {
					t.Error(err)
				}
			}, has(counter(&paid)))
		})
	}
}
