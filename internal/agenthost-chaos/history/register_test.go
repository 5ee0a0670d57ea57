package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/internal/agenthost-chaos/history"
)

const log = "agent.session.ana.s1"

// A written is what two hosts have sent to a session, and what its log has.
type written struct {
	appends []history.Append
	commits []history.Commit
}

// append is one that is stored as seq after expected, within a second that begins at.
func (w *written) append(id, host string, expected, seq uint64, at int) {
	w.appends = append(w.appends, history.Append{
		Host: host, Subject: log, ID: id, Expected: expected, Copies: 1, Outcome: history.Stored, Seq: seq,
		Call: time.Duration(at) * time.Second, Return: time.Duration(at+1) * time.Second,
	})
	w.commits = append(w.commits, history.Commit{Subject: log, ID: id, Seq: seq})
}

// refused is an append that the server turned down as the last one was another.
func (w *written) refused(id string, expected, last uint64, at int) {
	w.append(id, "h2", expected, 0, at)
	a := &w.appends[len(w.appends)-1]
	a.Outcome, a.Last = history.Refused, last
	w.commits = w.commits[:len(w.commits)-1]
}

func handover() *written {
	w := &written{}
	w.append("a", "h1", 0, 5, 0)
	w.append("b", "h1", 5, 7, 2)
	w.append("c", "h2", 7, 9, 4)
	return w
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*written)
		want string // a part of a violation; empty: none
	}{
		"a session that moves":           {func(*written) {}, ""},
		"a host that has lost it":        {func(w *written) { w.refused("d", 7, 9, 6) }, ""},
		"a refusal that says not why":    {func(w *written) { w.refused("d", 9, 0, 6) }, ""},
		"refused for what was not yet":   {func(w *written) { w.refused("d", 7, 9, 2) }, "log agent.session.ana.s1 is not linearizable: append d by h2 after 7: refused"},
		"refused for nothing":            {func(w *written) { w.refused("d", 9, 9, 6) }, "append d by h2 after 9: refused, the last is 9"},
		"stored after a lost one":        {func(w *written) { w.append("d", "h1", 7, 11, 6) }, "append d by h1 after 7: stored as 11"},
		"acknowledged and lost":          {func(w *written) { w.commits = w.commits[:2] }, "commit c of h2 was acknowledged as 9 and is not in the log"},
		"acknowledged as another":        {func(w *written) { w.commits[2].Seq = 8 }, "commit c of h2 was acknowledged as 9 and is 8 in the log"},
		"refused and stored":             {func(w *written) { w.appends[2].Outcome = history.Refused }, "commit c of h2 was refused and is 9 in the log"},
		"sent by none":                   {func(w *written) { w.appends = w.appends[:2] }, "commit 9 (c) of agent.session.ana.s1 was sent by no host"},
		"no answer, and stored":          {func(w *written) { w.appends[2].Outcome = history.Unknown }, ""},
		"no answer, and not stored":      {func(w *written) { w.appends[2].Outcome, w.commits = history.Unknown, w.commits[:2] }, ""},
		"stored before it was sent":      {func(w *written) { w.appends[1].Call, w.appends[1].Return = 8*time.Second, 9*time.Second }, "is not linearizable"},
		"called late, without an answer": {func(w *written) { w.appends[1].Call, w.appends[1].Outcome = 8*time.Second, history.Unknown }, "is not linearizable"},
	} {
		t.Run(name, func(t *testing.T) {
			w := handover()
			c.harm(w)
			found := history.Check(w.appends, w.commits).Violations
			if c.want == "" && len(found) > 0 || c.want != "" && !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("got %q, want %q", found, c.want)
			}
		})
	}
}

func TestCheckCounts(t *testing.T) {
	w := handover()
	w.refused("d", 7, 9, 6)
	got := history.Check(w.appends, w.commits)
	if fmt.Sprintf("%+v", got) != "{Violations:[] Stored:3 Refused:1 Undecided:0 Linearizable:1 Moved:1}" {
		t.Errorf("got %+v", got)
	}
}
