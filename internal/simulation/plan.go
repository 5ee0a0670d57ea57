package simulation

import (
	"fmt"
	"math/rand/v2"
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

	burst bool // of one person, without a pause
}

// An Input is a message of a person.
type Input struct {
	Name    string
	Agent   string
	Person  string
	Text    string
	Again   bool // the channel sends it a second time, later
	Session string
	N       int // of the session
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
	return fmt.Sprintf("%s: %s to %s: %q", in.Name, in.Person, in.Agent, in.Text)
}

// queues are the agents, by their modes.
var queues = map[string]string{"ana": "followup", "bob": "collect", "cyd": "steer", "dan": "interrupt"}

// NewPlan draws a plan.
func NewPlan(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 1))
	p := Plan{Seed: seed, Hosts: 2, Lanes: 1, Slots: 1 + r.IntN(4), Pace: draw(r, 0, 0, time.Millisecond, 50*time.Millisecond, 300*time.Millisecond)}
	if r.IntN(5) == 0 {
		p.Hosts = 3
	}
	if r.IntN(3) == 0 {
		p.Lanes = 2
	}
	for k := range p.Weights {
		p.Weights[k] = draw(r, 1, 3, 10)
	}
	p.burst = r.IntN(12) == 0
	p.drawInputs(r)
	p.drawFaults(r)
	if slices.ContainsFunc(p.Inputs, func(in Input) bool { return in.Agent == "bob" }) {
		p.Slots = 4 // which of two sessions gets the last one when both have waited enough is chance
	}
	return p
}

func draw[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (p *Plan) drawInputs(r *rand.Rand) {
	agents := draw(r, []string{"ana"}, []string{"ana"}, []string{"ana", "bob"}, []string{"ana", "cyd"}, []string{"bob"}, []string{"cyd"}, []string{"ana", "dan"})
	people := 1 + r.IntN(3)
	count := 2 + r.IntN(9)
	again := 8   // one in so many comes a second time
	if p.burst { // more than a mailbox holds, and faster than it is answered
		people, count, again = 1, 36+r.IntN(10), 3
		agents = draw(r, []string{"ana"}, []string{"bob"}, []string{"cyd"}, []string{"dan"})
		p.Weights[byInput], p.Weights[byGate] = 10, 1
	}
	next := map[string]int{}
	for i := range count {
		in := Input{Name: fmt.Sprint("i", i), Agent: draw(r, agents...), Person: fmt.Sprint("p", r.IntN(people))}
		in.Session = in.Agent + "/" + in.Person
		next[in.Session]++
		in.N = next[in.Session]
		in.Text = "say " + in.Name
		switch n := r.IntN(20); {
		case n < 4:
			in.Text = "pay " + in.Name
		case n < 6:
			in.Text = "look " + in.Name
		case n < 7:
			in.Text = "both " + in.Name
		}
		in.Again = r.IntN(again) == 0
		p.Inputs = append(p.Inputs, in)
	}
}

// traffic is what hosts do that faults are drawn for; more often what matters more.
var traffic = []string{
	commits, commits, commits, commits, replies, replies, replies, acks, acks, acks, notes, resets, pulls, reads, snapshots, anything, anything,
}

func (p *Plan) drawFaults(r *rand.Rand) {
	count := r.IntN(5)
	if p.burst {
		count = 1 + r.IntN(4)
	}
	for i := range count {
		f := Fault{
			Name: fmt.Sprint("f", i), Host: r.IntN(p.Hosts), On: draw(r, traffic...), When: draw(r, Before, Unanswered, Answered),
			For: draw(r, 0, 300*time.Millisecond, 3*time.Second, 8*time.Second, 15*time.Second),
		}
		f.Kind = draw(r, Crash, Crash, Crash, Crash, Stop, Stall, Stall, Cut, Cut, Restart, Lose, LoseAnswer, LoseAnswer, Refuse, LoseDelivery, LoseDelivery)
		switch f.On {
		case anything:
			f.N = 1 + r.IntN(200)
		case pulls, reads:
			f.N = 1 + r.IntN(20)
		default:
			f.N = 1 + r.IntN(6)
		}
		if f.Kind == Crash && r.IntN(12) == 0 {
			f.Kind, f.For = Outage, 11*time.Minute
		}
		p.Faults = append(p.Faults, f)
	}
}

// Without is the plan without what has these names.
func (p Plan) Without(names []string) Plan {
	p.Inputs = slices.DeleteFunc(slices.Clone(p.Inputs), func(in Input) bool { return slices.Contains(names, in.Name) })
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return slices.Contains(names, f.Name) })
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
	return names
}

func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d hosts, %d lanes, %d slots, pace %s, weights %v\n", p.Hosts, p.Lanes, p.Slots, p.Pace, p.Weights)
	for _, in := range p.Inputs {
		fmt.Fprintln(&b, in)
	}
	for _, f := range p.Faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
