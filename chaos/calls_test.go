//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/run"
	"agenthost/session"
)

// A call is what the log of a session tells of a tool call.
type call struct {
	id                  string // as the tool sees it
	purpose             string // the tool and its arguments
	safe                bool
	requested, finished int
	last                run.Event // its tool.finished
	at                  time.Time // when the request was stored
}

// interrupted reports whether the call was given up because its host died.
func (c *call) interrupted() bool { return c.last.Source == run.FromRecovery }

// calls are all calls of all logs, by id, as far as the tape is wound.
func (l *ledger) calls() map[string]*call {
	l.t.Helper()
	all := map[string]*call{}
	for _, msg := range l.sessions.msgs {
		if strings.HasPrefix(msg.Subject, "agent.snapshot.") {
			continue
		}
		c := session.Commit{}
		if err := json.Unmarshal(msg.Data, &c); err != nil {
			l.t.Fatal(err)
		}
		for _, e := range c.Events {
			if e.Type == run.ToolRequested || e.Type == run.ToolFinished {
				note(all, c.Run+"."+e.Call, e, msg.Time)
			}
		}
	}
	return all
}

func note(all map[string]*call, id string, e run.Event, at time.Time) {
	if all[id] == nil {
		all[id] = &call{id: id}
	}
	c := all[id]
	if e.Type == run.ToolFinished {
		c.finished++
		c.last = e
		return
	}
	c.requested++
	c.purpose, c.safe, c.at = e.Name+" "+compact(e.Args), e.Rerun == run.SafeRerun, at
}

// A tally holds logged calls against effects.
type tally struct {
	calls, effects, repeats int
	interrupted, unheard    int // unheard: those of them that had their effect
}

// String says it in words.
func (y tally) String() string {
	return fmt.Sprintf("%d calls, %d effects; %d interrupted, of which %d had their effect; %d safe repeats",
		y.calls, y.effects, y.interrupted, y.unheard, y.repeats)
}

// reconcile reports what breaks the promise of at most one effect of a call:
// effects are how often each call, by id, has run.
func reconcile(t testing.TB, calls map[string]*call, effects map[string]int) tally {
	t.Helper()
	y := tally{calls: len(calls)}
	for _, id := range slices.Sorted(maps.Keys(effects)) {
		y.effects += effects[id]
		if calls[id] == nil {
			t.Errorf("call %s had an effect and is in no log", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		y.check(t, calls[id], effects[id])
	}
	return y
}

func (y *tally) check(t testing.TB, c *call, effects int) {
	t.Helper()
	if c.requested != 1 || c.finished != 1 {
		t.Errorf("call %s (%s) was requested %d times and finished %d times", c.id, c.purpose, c.requested, c.finished)
	}
	if !c.safe && effects > 1 {
		t.Errorf("call %s (%s) had %d effects", c.id, c.purpose, effects)
	}
	switch {
	case c.last.OK && effects == 0:
		t.Errorf("call %s (%s) has a result and had no effect", c.id, c.purpose)
	case !c.last.OK && (c.safe || !c.interrupted()):
		t.Errorf("call %s (%s) came to %q (%s)", c.id, c.purpose, c.last.Result, c.last.Source)
	case !c.last.OK:
		y.interrupted++
		y.unheard += effects
	}
	y.repeats += max(0, effects-1)
}
