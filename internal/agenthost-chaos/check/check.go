// Package check holds what a fleet has written against what it was asked, and
// reports what breaks a promise.
package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
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
