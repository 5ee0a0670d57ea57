package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/tools"
)

// writes is a script of one answer with n calls that each have to be approved.
func writes(n int) string {
	calls := make([]string, n)
	for i := range calls {
		calls[i] = fmt.Sprintf("{name: write_file, args: {path: f%d.txt, text: x}}", i+1)
	}
	return "rules:\n  - {after_tool: \"*\", text: done}\n  - {tool_calls: [" + strings.Join(calls, ", ") + "]}\n"
}

func atOnce(n int) func(*actor) { return func(a *actor) { a.cfg.Limits.Tools = n } }

// More calls than may run at once are asked about in their order, each with a number of its own.
func TestMoreCallsThanRunAtOnceAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ atOnce, calls int }{{8, 9}, {8, 30}, {2, 3}, {1, 3}} {
		t.Run(fmt.Sprint(test.calls, " of ", test.atOnce), func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t, bot("ana", script(writes(test.calls)), has(r.tool()), atOnce(test.atOnce)))
			w.say("ana", bus.Inbound{Text: "write"})
			for n := 1; n <= test.calls; n++ {
				w.expect("approval", fmt.Sprintf("Ana wants to write f%d.txt (1 byte). Reply approve %d or deny %d.", n, n, n))
			}
			w.settled()
			w.say("ana", bus.Inbound{Text: fmt.Sprint("approve ", test.calls)})
			last := []string{fmt.Sprintf("f%d.txt", test.calls)}
			w.eventually("the last has run", func() bool { return slices.Equal(r.ran(), last) })
			w.settled()
			for n := 1; n < test.calls; n++ {
				w.say("ana", bus.Inbound{Text: "deny"})
				w.settled()
			}
			w.expect("reply", "done")
			if !slices.Equal(r.ran(), last) {
				t.Errorf("%q ran, want %q alone", r.ran(), last)
			}
		})
	}
}

// A number that a person was told is that call's while it is open, also when others are answered
// before all have been asked, and after a restart.
func TestNumbersOfManyCallsHold(t *testing.T) {
	t.Parallel()
	var r runs
	let := make(chan struct{})
	slow := tools.Tool{Name: "look", Schema: anything, ReadOnly: true, Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
		select {
		case <-let:
		case <-ctx.Done():
		}
		return tools.Result{Text: "seen"}, nil
	}}
	a := bot("ana", has(r.tool()), has(slow), atOnce(2), script(`
rules:
  - {after_tool: "*", text: done}
  - tool_calls:
    - {name: look}
    - {name: write_file, args: {path: a.txt, text: x}}
    - {name: write_file, args: {path: b.txt, text: x}}
    - {name: write_file, args: {path: c.txt, text: x}}
`))
	w := newWorld(t, a)
	w.say("ana", bus.Inbound{Text: "write"})
	w.expect("approval", "Ana wants to write a.txt (1 byte). Reply approve 1 or deny 1.")
	w.expect("approval", "Ana wants to write b.txt (1 byte). Reply approve 2 or deny 2.")
	w.expect("approval", "Ana wants to write c.txt (1 byte). Reply approve 3 or deny 3.")
	close(let)
	w.settled()
	w.say("ana", bus.Inbound{Text: "deny 2"})
	w.settled()
	w.stop()
	w.start(a)
	w.say("ana", bus.Inbound{Text: "approve 3"})
	w.eventually("the third has run", func() bool { return slices.Equal(r.ran(), []string{"c.txt"}) })
}
