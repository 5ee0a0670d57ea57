package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/run"
	"agenthost/session"
)

// A history is the log of one session.
type history struct {
	subject   string
	commits   []Message
	snapshots []Message
}

// logs reads the sessions.
func (c *checker) logs() {
	all := map[string]*history{}
	for _, msg := range c.Streams.Sessions {
		name, isSnapshot := strings.CutPrefix(msg.Subject, "agent.snapshot.")
		if !isSnapshot {
			name = strings.TrimPrefix(msg.Subject, "agent.session.")
		}
		if all[name] == nil {
			all[name] = &history{subject: name}
		}
		if isSnapshot {
			all[name].snapshots = append(all[name].snapshots, msg)
		} else {
			all[name].commits = append(all[name].commits, msg)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.fold(all[name])
	}
}

// fold folds a log: each commit was written by who knew the one before, and a
// snapshot is what the fold is there.
func (c *checker) fold(h *history) {
	state, events, last := run.State{Phase: run.Idle}, []run.Event(nil), uint64(0)
	folds := map[uint64][]byte{}
	for _, snap := range h.snapshots {
		var s struct{ Seq uint64 }
		if json.Unmarshal(snap.Data, &s) == nil {
			folds[s.Seq] = nil
		}
	}
	agent, _, _ := strings.Cut(h.subject, ".")
	for _, msg := range h.commits {
		commit := session.Commit{}
		if err := json.Unmarshal(msg.Data, &commit); err != nil {
			c.violation("log %s: commit %d: %v", h.subject, msg.Seq, err)
			return
		}
		if fence := msg.Header.Get("Nats-Expected-Last-Subject-Sequence"); fence != fmt.Sprint(last) {
			c.violation("log %s: commit %d was written by an owner that expected %q as the last one, which is %d", h.subject, msg.Seq, fence, last)
		}
		last = msg.Seq
		for _, e := range commit.Events {
			state = run.Fold(state, e)
			c.event(h.subject, commit.Run, e)
			c.Report.Spent[agent] += e.Cost
		}
		events = append(events, commit.Events...)
		if _, ok := folds[msg.Seq]; ok {
			folds[msg.Seq], _ = state.AppendJSON(nil) // compared below
		}
	}
	if state.Run != nil {
		c.violation("log %s: run %s is not over, its phase is %v", h.subject, state.Run.ID, state.Phase)
	}
	if _, err := run.Replay(events); err != nil {
		c.violation("log %s: %v", h.subject, err)
	}
	for _, snap := range h.snapshots {
		c.snapshot(h, snap, folds)
	}
}

func (c *checker) snapshot(h *history, msg Message, folds map[uint64][]byte) {
	var s struct {
		Seq    uint64
		State  run.State
		Object string
	}
	if err := json.Unmarshal(msg.Data, &s); err != nil {
		c.violation("snapshot %s: %v", h.subject, err)
		return
	}
	c.Snapshots++
	if s.Object != "" {
		return
	}
	got, err := s.State.AppendJSON(nil)
	var restored run.State
	if folds[s.Seq] == nil || json.Unmarshal(folds[s.Seq], &restored) != nil {
		c.violation("snapshot %s is of commit %d, which is not there", h.subject, s.Seq)
		return
	}
	want, wrong := restored.AppendJSON(nil)
	if err != nil || wrong != nil || string(got) != string(want) {
		c.violation("snapshot %s differs from the fold up to %d: %s, want %s", h.subject, s.Seq, got, want)
	}
}
