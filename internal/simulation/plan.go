package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Plan is what happens in one simulation. It follows from the seed alone, but for what
// was dropped from it to make it smaller.
type Plan struct {
	Seed   uint64
	Hosts  int
	Lanes  int
	Slots  int // limits.concurrency
	Inputs []Input
	Faults []Fault
	// Weights are how often each kind of step is chosen where there are several.
	Weights [kinds]int
	// Pace is how much time passes at once while other steps could be taken.
	Pace time.Duration

	// Patience is how long an approval or a question waits for a person.
	Patience  time.Duration
	Schedules []Schedule
	Beats     bool     // ana has a heartbeat
	Divisions []Divide // of ana, from the first on

	burst bool // of one person, without a pause
	theme theme
}

// An Input is a message of a person.
type Input struct {
	Name    string
	Agent   string
	Person  string
	Text    string
	Again   bool // the channel sends it a second time, later
	Session string
	N       int    // of the session
	Order   bool   // an order or an answer: it need not have an end of its own
	Changes string // the message that it edits or withdraws
	Removes bool   // it withdraws it
	Answers string // the id of what it answers
	React   string // how the person answers what is asked because of it: see reactions
}

// A Schedule is one of the configuration.
type Schedule struct {
	Name  string
	Agent string
	At    time.Duration // after the beginning; 0: Every
	Every time.Duration
}

// A Divide gives an agent another number of partitions.
type Divide struct {
	Name       string
	At         time.Duration // after the beginning; 0: from the start
	Partitions int
	Lag        time.Duration // of each host behind the one before
}

// A Fault happens when a host does something for the nth time.
type Fault struct {
	Name string
	Kind FaultKind
	Host int
	On   string // what the host does: a Traffic
	N    int    // from 1
	When Moment
	For  time.Duration // until the host is back, or the connection goes on
}

// A FaultKind is what goes wrong.
type FaultKind string

// The kinds of faults.
const (
	Crash        FaultKind = "crash"         // the host dies, with all that it has in memory
	Stop         FaultKind = "stop"          // the host is told to stop, and starts again
	Stall        FaultKind = "stall"         // nothing passes between the host and the server: it becomes a zombie
	Cut          FaultKind = "cut"           // the connection is reset
	Restart      FaultKind = "restart"       // the server stops, and starts again
	Lose         FaultKind = "lose"          // what the host has sent gets lost
	LoseAnswer   FaultKind = "lose-answer"   // the server does it, and the host does not hear of it
	Refuse       FaultKind = "refuse"        // the server says that it cannot now
	LoseDelivery FaultKind = "lose-delivery" // the next message of a lane does not reach the host
	Outage       FaultKind = "outage"        // all hosts die, and are away for longer than streams remember ids
)

// A Moment is when a fault happens, as the server sees it.
type Moment string

// Moments.
const (
	Before     Moment = "before"     // the server has not seen it
	Unanswered Moment = "unanswered" // it has done it
	Answered   Moment = "answered"   // and the host has heard of it
)

func (f Fault) String() string {
	return fmt.Sprintf("%s: %s of host %d %s its %d. %s, for %s", f.Name, f.Kind, f.Host, f.When, f.N, f.On, f.For)
}

func (in Input) String() string {
	text := fmt.Sprintf("%s: %s to %s: %q", in.Name, in.Person, in.Agent, in.Text)
	switch {
	case in.Removes:
		text += ", which withdraws " + in.Changes
	case in.Changes != "":
		text += ", which edits " + in.Changes
	case in.React != "":
		text += ", and then " + in.React
	}
	return text
}

func (s Schedule) String() string {
	return fmt.Sprintf("%s: %s is woken at %s, every %s", s.Name, s.Agent, s.At, s.Every)
}

func (d Divide) String() string {
	return fmt.Sprintf("%s: %d partitions after %s, each host %s behind the one before", d.Name, d.Partitions, d.At, d.Lag)
}

// queues are the agents, by their modes; eli has no chat.
var queues = map[string]string{"ana": "followup", "bob": "collect", "cyd": "steer", "dan": "interrupt", "eli": "followup"}

// Without is the plan without what has these names.
func (p Plan) Without(names []string) Plan {
	p.Inputs = slices.DeleteFunc(slices.Clone(p.Inputs), func(in Input) bool { return slices.Contains(names, in.Name) })
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return slices.Contains(names, f.Name) })
	p.Schedules = slices.DeleteFunc(slices.Clone(p.Schedules), func(s Schedule) bool { return slices.Contains(names, s.Name) })
	p.Divisions = slices.DeleteFunc(slices.Clone(p.Divisions), func(d Divide) bool { return slices.Contains(names, d.Name) })
	p.Beats = p.Beats && !slices.Contains(names, beatsName)
	return p
}

// Names are those of all that may be dropped, faults first.
func (p Plan) Names() (names []string) {
	for _, f := range p.Faults {
		names = append(names, f.Name)
	}
	for _, in := range p.Inputs {
		names = append(names, in.Name)
	}
	for _, s := range p.Schedules {
		names = append(names, s.Name)
	}
	for _, d := range p.Divisions {
		names = append(names, d.Name)
	}
	if p.Beats {
		names = append(names, beatsName)
	}
	return names
}

// beatsName stands for the heartbeat of a plan.
const beatsName = "beats"

func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d hosts, %d lanes, %d slots, pace %s, patience %s, weights %v\n", p.Hosts, p.Lanes, p.Slots, p.Pace, p.Patience, p.Weights)
	for _, in := range p.Inputs {
		fmt.Fprintln(&b, in)
	}
	for _, s := range p.Schedules {
		fmt.Fprintln(&b, s)
	}
	if p.Beats {
		fmt.Fprintln(&b, beatsName+": ana has a heartbeat")
	}
	for _, d := range p.Divisions {
		fmt.Fprintln(&b, d)
	}
	for _, f := range p.Faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
