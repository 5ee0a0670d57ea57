// Package check holds what a fleet has written against what it was asked, and
// reports what breaks a promise.
package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// An Input is a message that AGENT_INBOUND has accepted.
type Input struct {
	ID                  string
	Session             string // a name of its own
	Channel, From, Chat string
	N                   int // of the session
	Queue               string
	Text                string
	Order               bool   // an answer or /stop, which need not have an end of its own
	Changes             string // the message that it edits or withdraws
	Withdraws           bool
	Seq                 uint64
	Sent, Accepted      time.Time
}

// Facts is all that is known of a run of the harness.
type Facts struct {
	Inputs    []Input
	Streams   Streams
	ByCall    map[string]int   // effects
	ByPurpose map[string]int   // effects
	Paid      int64            // model calls that were answered whole
	Price     int64            // of one, in micro-cents
	Slow      time.Duration    // how long the model thinks before those answers that people stop
	Spent     map[string]int64 // what the records of the days say, by agent
	Delivered Delivered
	Approved  []string // tools whose calls have to be approved
}

// A Report is what a check has found.
type Report struct {
	Violations []string

	Ends      map[string]int   // of inputs, by what they were
	Spent     map[string]int64 // by agent, as the logs have it, in micro-cents
	Runs      int
	Calls     int
	Effects   int
	Unknown   int // calls given up as their host died
	Snapshots int
	Ticks     int
	Pause     time.Duration // the longest from one tick to the next
	Takeovers int
	Brought   int // replies that a platform has
	Unheard   int // calls that were stopped when their answers may have been on the way
	Retried   int // runs that were begun again
}

type checker struct {
	Facts
	Report

	inputs  map[string]Input
	sent    map[string]Message // outbound by id
	logged  map[string]bool    // replies to channels
	ends    map[string][]string
	dead    map[string]bool
	runOf   map[string]string // by session and input
	noted   map[string]bool   // inputs that a log has
	started map[string]int
	over    map[string]int
	calls   map[string]*call
	due     map[string]string // run by agent, schedule and time
	dues    []time.Time

	waits     map[string]*wait // by call
	tasks     map[string]*task // by log
	withdrawn map[string]bool  // inputs that ended without a run
	routes    map[string]bool  // ids of route messages; nil: not read yet
}

// Answered are the ids that a message answers.
func Answered(out bus.Outbound) []string {
	if len(out.Merged) > 0 {
		return out.Merged
	}
	return []string{out.InReplyTo}
}

// Check checks everything.
func Check(f Facts) Report {
	c := &checker{
		Facts: f, Report: Report{Ends: map[string]int{}, Spent: map[string]int64{}}, inputs: map[string]Input{}, sent: map[string]Message{}, logged: map[string]bool{},
		ends: map[string][]string{}, dead: map[string]bool{}, runOf: map[string]string{}, noted: map[string]bool{},
		started: map[string]int{}, over: map[string]int{}, calls: map[string]*call{}, due: map[string]string{},
		waits: map[string]*wait{}, tasks: map[string]*task{}, withdrawn: map[string]bool{},
	}
	for _, in := range f.Inputs {
		if other, ok := c.inputs[in.ID]; ok {
			c.violation("input %s was accepted as %d and as %d", in.ID, other.Seq, in.Seq)
		}
		c.inputs[in.ID] = in
	}
	c.outbound()
	c.deadLetters()
	c.logs()
	c.everyEnd()
	c.everyReply()
	c.everyRun()
	c.everyCall()
	c.everyWait()
	c.everyChange()
	c.everyFiring()
	c.delivered()
	c.events()
	c.budgets()
	c.Pause = longestPause(c.dues)
	return c.Report
}

func (c *checker) violation(format string, args ...any) {
	c.Violations = append(c.Violations, fmt.Sprintf(format, args...))
}

// outbound reads what was said: ids are there once, ends belong to inputs, and
// a session is answered in order.
func (c *checker) outbound() {
	last := map[string]int{}
	for _, msg := range c.Streams.Outbound {
		if !strings.HasPrefix(msg.Subject, bus.OutboundPrefix) {
			continue // who owns an account is noted there as well
		}
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			c.violation("outbound %d: %v", msg.Seq, err)
			continue
		}
		if _, ok := c.sent[out.ID]; ok {
			c.violation("outbound %s is stored twice, the second time as %d", out.ID, msg.Seq)
		}
		c.sent[out.ID] = msg
		if id := msg.Header.Get("Nats-Msg-Id"); id != out.ID {
			c.violation("outbound %s has the Nats-Msg-Id %q", out.ID, id)
		}
		if out.Final && out.InReplyTo != "" {
			c.end(out, last)
		}
	}
}

func (c *checker) end(out bus.Outbound, last map[string]int) {
	var texts []string
	for _, id := range Answered(out) {
		in, ok := c.inputs[id]
		if !ok {
			c.violation("outbound %s ends %q, which nobody said", out.ID, id)
			continue
		}
		kind := out.Kind
		if out.Kind == bus.KindError && out.Error != nil {
			kind += " " + out.Error.Code
		}
		c.ends[id] = append(c.ends[id], kind+" "+out.ID)
		if in.Order || in.Changes != "" {
			continue
		}
		texts = append(texts, c.textIn(in, Answered(out)))
		if in.N < last[in.Session] {
			c.violation("session %s: message %d is answered after message %d", in.Session, in.N, last[in.Session])
		}
		last[in.Session] = max(last[in.Session], in.N)
	}
	whole := slices.ContainsFunc(Answered(out), func(id string) bool { return c.inputs[id].Queue == "followup" })
	if want := strings.Join(texts, "\n"); whole && out.Kind == bus.KindReply && !strings.HasSuffix(out.Text, want) && len(texts) > 0 { // in a group the name is before it
		c.violation("outbound %s says %q, want %q", out.ID, out.Text, want)
	}
}

func (c *checker) deadLetters() {
	for _, msg := range c.Streams.Dead {
		letter := bus.DeadLetter{}
		in := bus.Inbound{}
		if json.Unmarshal(msg.Data, &letter) != nil || json.Unmarshal(letter.Data(), &in) != nil {
			c.violation("dead letter %d cannot be read: %s", msg.Seq, msg.Data)
			continue
		}
		if c.dead[in.ID] {
			c.violation("input %s is a dead letter twice", in.ID)
		}
		c.dead[in.ID] = true
	}
}

// everyEnd sees that every input has one end.
func (c *checker) everyEnd() {
	for _, in := range c.Inputs {
		ends := c.ends[in.ID]
		if c.withdrawn[in.ID] && (in.Order || in.Changes != "" || c.withdrawsAny(in.ID)) && len(ends) == 0 {
			c.Ends["withdrawn"]++
			continue
		}
		switch {
		case in.Order && len(ends) > 1, !in.Order && len(ends) != 1:
			c.violation("input %s (%s, sequence %d) has %d ends: %q", in.ID, in.Text, in.Seq, len(ends), ends)
		case in.Order && len(ends) == 0 && !c.noted[in.ID] && !c.dead[in.ID]:
			c.violation("order %s (%s, sequence %d) is in no log and was answered by nothing", in.ID, in.Text, in.Seq)
		case len(ends) == 1:
			kind, _, _ := strings.Cut(ends[0], " ")
			if code := strings.Fields(ends[0]); kind == bus.KindError && len(code) > 2 {
				kind += " " + code[1]
			}
			c.Ends[kind]++
		}
		if c.dead[in.ID] {
			c.Ends["of which dead letters"]++
		}
	}
}

// everyReply sees that what logs say was said is what was said.
func (c *checker) everyReply() {
	for _, id := range slices.Sorted(maps.Keys(c.logged)) {
		if _, ok := c.sent[id]; !ok {
			c.violation("reply %s is in a log and was not published", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.sent)) {
		out := bus.Outbound{}
		if json.Unmarshal(c.sent[id].Data, &out) == nil && out.Kind == bus.KindReply && !c.logged[id] && !c.passedOn(out) {
			c.violation("reply %s was published and is in no log", id)
		}
	}
}

// passedOn reports whether a reply says that an answer, or an order, was passed on to
// another session: the log of that one has it.
func (c *checker) passedOn(out bus.Outbound) bool {
	in := c.inputs[out.InReplyTo]
	return strings.HasPrefix(out.ID, "reply-") && in.Order && (in.Text == "/stop" || c.routed()[in.ID])
}

// routed are the ids of what was passed on.
func (c *checker) routed() map[string]bool {
	if c.routes == nil {
		c.routes = map[string]bool{}
		for _, msg := range c.Streams.Routes {
			route := bus.Route{}
			if json.Unmarshal(msg.Data, &route) == nil {
				c.routes[route.ID] = true
			}
		}
	}
	return c.routes
}

func (c *checker) everyRun() {
	c.Runs = len(c.started)
	for _, id := range slices.Sorted(maps.Keys(c.started)) {
		if n := c.over[id]; n != 1 {
			c.violation("run %s was begun %d times and ended %d times", id, c.started[id], n)
		}
		if c.started[id] > 1 {
			c.Retried++
		}
	}
}

func (c *checker) events() {
	for _, msg := range c.Streams.Events {
		if strings.HasSuffix(msg.Subject, ".takeover") {
			c.Takeovers++
		}
	}
}

// budgets holds three sums against each other: what the logs say was spent, what
// the records of the days say, and what the model was paid for. A call whose host
// died counts as spent, though the model may not have heard of it. What a run counts
// as lost with a host is left out: a host that was only cut off gives it back. A call
// that was stopped before its host had read a word counts as nothing, though the model
// may have written all of it.
func (c *checker) budgets() {
	var spent int64
	for _, amount := range c.Facts.Spent {
		spent += amount
	}
	if c.Price > 0 && spent < (c.Paid-int64(c.Unheard))*c.Price {
		c.violation("the model was paid for %d calls, the records count %d", c.Paid, spent/c.Price)
	}
	for _, agent := range slices.Sorted(maps.Keys(c.Report.Spent)) {
		if logged, recorded := c.Report.Spent[agent], c.Facts.Spent[agent]; recorded < logged {
			c.violation("the logs of %s have calls for %d micro-cents, its records %d", agent, logged, recorded)
		}
	}
}

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
