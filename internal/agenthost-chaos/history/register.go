package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// A Commit is one of the stream of the sessions, in the end.
type Commit struct {
	Subject, ID string
	Seq         uint64
}

// A Report is what a check has found.
type Report struct {
	Violations                 []string
	Stored, Refused, Undecided int // appends; Undecided: without a clear answer
	Linearizable               int // sessions
	Moved                      int // times that another host wrote to a session than before
}

// perSession is how long a session may take to be checked.
const perSession = time.Minute

// Check holds what was recorded against what the stream has in the end. Each session has to
// be linearizable as a register of its last sequence.
func Check(appends []Append, commits []Commit) Report {
	c := checker{stored: map[string]Commit{}, final: map[string]uint64{}, bySession: map[string][]porcupine.Operation{}}
	for _, commit := range commits {
		c.stored[commit.ID] = commit
		c.final[commit.Subject] = max(c.final[commit.Subject], commit.Seq)
	}
	for _, a := range appends {
		c.add(a)
	}
	c.unseen(appends, commits)
	c.moves(appends, commits)
	for _, subject := range slices.Sorted(maps.Keys(c.bySession)) {
		c.session(subject)
	}
	return c.Report
}

type checker struct {
	Report
	stored    map[string]Commit // by id
	final     map[string]uint64 // last sequence, by subject
	bySession map[string][]porcupine.Operation
}

func (c *checker) violation(format string, args ...any) {
	c.Violations = append(c.Violations, fmt.Sprintf(format, args...))
}

// A step is an operation on the register: an append that is in the log, a refusal, or the
// reading of the log in the end.
type step struct {
	kind     kind
	append   Append
	expected uint64
	seq      uint64
}

type kind int

const (
	appended kind = iota
	refused
	read
)

func (s step) String() string {
	switch s.kind {
	case appended:
		return fmt.Sprintf("append %s by %s after %d: stored as %d", s.append.ID, s.append.Host, s.expected, s.seq)
	case refused:
		return fmt.Sprintf("append %s by %s after %d: refused, the last is %d", s.append.ID, s.append.Host, s.expected, s.seq)
	default:
		return fmt.Sprintf("the log ends with %d", s.seq)
	}
}

// forever is the return of what was never answered.
const forever = math.MaxInt64 - 1

// add makes an operation of an append. One without an answer is what the stream says in the
// end: it took effect some time after its call, or never.
func (c *checker) add(a Append) {
	commit, there := c.stored[a.ID]
	s, end := step{kind: appended, append: a, expected: a.Expected, seq: commit.Seq}, int64(a.Return)
	switch a.Outcome {
	case Stored:
		c.Stored++
		if !there {
			c.violation("commit %s of %s was acknowledged as %d and is not in the log %s", a.ID, a.Host, a.Seq, a.Subject)
		} else if commit.Seq != a.Seq {
			c.violation("commit %s of %s was acknowledged as %d and is %d in the log %s", a.ID, a.Host, a.Seq, commit.Seq, a.Subject)
		}
		s.seq = a.Seq
	case Refused:
		c.Refused++
		if there {
			c.violation("commit %s of %s was refused and is %d in the log %s", a.ID, a.Host, commit.Seq, a.Subject)
			return
		}
		if a.Last == 0 {
			return // another append was on its way, which says nothing of the state
		}
		s.kind, s.seq = refused, a.Last
	case Unknown:
		c.Undecided++
		if !there {
			return
		}
		end = forever
	}
	c.operation(a.Subject, s, int64(a.Call), end)
}

func (c *checker) operation(subject string, s step, call, end int64) {
	c.bySession[subject] = append(c.bySession[subject], porcupine.Operation{Input: s, Call: call, Return: end})
}

// unseen reports commits that no host has sent.
func (c *checker) unseen(appends []Append, commits []Commit) {
	sent := map[string]bool{}
	for _, a := range appends {
		sent[a.ID] = true
	}
	for _, commit := range commits {
		if !sent[commit.ID] {
			c.violation("commit %d (%s) of %s was sent by no host", commit.Seq, commit.ID, commit.Subject)
		}
	}
}

// moves counts how often a session came to another host.
func (c *checker) moves(appends []Append, commits []Commit) {
	host := map[string]string{}
	for _, a := range appends {
		host[a.ID] = a.Host
	}
	owner := map[string]string{}
	for _, commit := range slices.SortedFunc(slices.Values(commits), func(a, b Commit) int { return cmp.Compare(a.Seq, b.Seq) }) {
		if was, ok := owner[commit.Subject]; ok && was != host[commit.ID] {
			c.Moved++
		}
		owner[commit.Subject] = host[commit.ID]
	}
}

// register is the log of a session: its state is the last sequence.
var register = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		last, s := state.(uint64), input.(step)
		switch s.kind {
		case appended:
			return last == s.expected && s.seq > last, s.seq
		case refused:
			return last != s.expected && last == s.seq, last
		default:
			return last == s.seq, last
		}
	},
	DescribeOperation: func(input, _ any) string { return input.(step).String() },
}

func (c *checker) session(subject string) {
	c.operation(subject, step{kind: read, seq: c.final[subject]}, forever, forever)
	history := c.bySession[subject]
	result, info := porcupine.CheckOperationsVerbose(register, history, perSession)
	switch result {
	case porcupine.Ok:
		c.Linearizable++
	case porcupine.Unknown:
		c.violation("log %s: %d operations could not be checked within %s", subject, len(history), perSession)
	case porcupine.Illegal:
		c.violation("log %s is not linearizable: %s", subject, misfit(history, info))
	}
}

// misfit is the operation, of those that the longest order cannot be continued with, that was
// answered first.
func misfit(history []porcupine.Operation, info porcupine.LinearizationInfo) string {
	longest := []int{}
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	fits := map[int]bool{}
	for _, n := range longest {
		fits[n] = true
	}
	before := "nothing"
	if len(longest) > 0 {
		before = history[longest[len(longest)-1]].Input.(step).String()
	}
	first := porcupine.Operation{Return: math.MaxInt64}
	for n, op := range history {
		if !fits[n] && op.Return < first.Return {
			first = op
		}
	}
	return fmt.Sprintf("%v; it does not follow %s", first.Input, before)
}
