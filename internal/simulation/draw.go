package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A theme is what a plan has besides plain messages.
type theme int

const (
	plain     theme = iota
	tasks           // for another agent
	asks            // approvals and questions
	stops           // of runs, with what they wait for
	changes         // of messages that wait
	times           // schedules, reminders, a heartbeat
	divisions       // into partitions
)

var themes = []theme{plain, plain, plain, plain, plain, tasks, tasks, asks, asks, stops, changes, times, divisions}

// What people say: a verb, and a name. A model does what its verb says, and repeats both.
const (
	sayVerb    = "say"
	payVerb    = "pay"  // by a tool that must not run twice
	lookVerb   = "look" // by one that may
	bothVerb   = "both"
	signVerb   = "sign" // by a tool that must not run twice, and asks
	askVerb    = "ask"  // the person, red or blue
	remindVerb = "remind"
	taskVerb   = "have-" // and one of those: another agent is to do it
)

// verbs are those of plain messages; more often what matters more.
var verbs = append(slices.Repeat([]string{sayVerb}, 13), payVerb, payVerb, payVerb, payVerb, lookVerb, lookVerb, bothVerb)

// reactions are how people answer what is asked because of a message: with which words,
// and whether they name what they answer.
var reactions = []string{"yes", "yes", "no", "yes by id", "no by id", "yes and no", "yes and yes by id", "maybe and yes", "late", "nothing"}

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
	if !p.burst {
		p.theme = draw(r, themes...)
	}
	p.Patience = draw(r, 2*time.Second, 6*time.Second, 15*time.Second)
	p.drawInputs(r)
	p.drawTimes(r)
	p.drawDivisions(r)
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
		p.drawInput(r, &in)
		in.Session = in.Agent + "/" + in.Person
		next[in.Session]++
		in.N = next[in.Session]
		in.Again = r.IntN(again) == 0
		p.Inputs = append(p.Inputs, in)
	}
}

func (p *Plan) drawInput(r *rand.Rand, in *Input) {
	in.Text = draw(r, verbs...) + " " + in.Name
	if r.IntN(2) == 0 {
		return
	}
	switch p.theme {
	case tasks:
		in.Text = taskVerb + draw(r, sayVerb, sayVerb, payVerb, lookVerb, signVerb) + " " + in.Name
		in.React = draw(r, reactions...)
	case asks:
		in.Text = draw(r, signVerb, signVerb, askVerb) + " " + in.Name
		in.React = draw(r, reactions...)
	case stops:
		if r.IntN(3) > 0 {
			in.Text = draw(r, signVerb, taskVerb+sayVerb, taskVerb+signVerb, payVerb) + " " + in.Name
			in.React = draw(r, reactions...)
			return
		}
		in.Text, in.Order = "/stop", true
	case changes:
		p.drawChange(r, in)
	case times:
		in.Text = remindVerb + " " + in.Name
	}
}

// drawChange makes it one that edits or withdraws an earlier message of the person.
func (p *Plan) drawChange(r *rand.Rand, in *Input) {
	var earlier []string
	for _, other := range p.Inputs {
		if other.Agent == in.Agent && other.Person == in.Person && other.Changes == "" && !other.Order {
			earlier = append(earlier, other.Name)
		}
	}
	switch {
	case len(earlier) == 0:
	case r.IntN(6) == 0:
		in.Changes = earlier[0]
	default:
		in.Changes = earlier[len(earlier)-1]
	}
	in.Removes = in.Changes != "" && r.IntN(3) == 0
}

// drawTimes draws what wakes agents without a message.
func (p *Plan) drawTimes(r *rand.Rand) {
	if p.theme != times {
		return
	}
	for i := range 1 + r.IntN(3) {
		s := Schedule{Name: fmt.Sprint("s", i), Agent: draw(r, "ana", "ana", "bob"), At: time.Duration(1+r.IntN(25)) * time.Second}
		if i == 0 && r.IntN(3) == 0 {
			s.At, s.Every = 0, 20*time.Second
		}
		p.Schedules = append(p.Schedules, s)
	}
	p.Beats = r.IntN(3) == 0
}

// drawDivisions draws how often the number of partitions changes.
func (p *Plan) drawDivisions(r *rand.Rand) {
	if p.theme != divisions {
		return
	}
	last := time.Duration(0)
	for i := range 1 + r.IntN(4) {
		d := Divide{Name: fmt.Sprint("d", i), Partitions: r.IntN(4), Lag: draw(r, 0, 200*time.Millisecond, 3*time.Second)}
		switch {
		case i > 0 && r.IntN(3) == 0: // right after the one before
			d.At = last + time.Duration(1+r.IntN(400))*time.Millisecond
		case i > 0 || r.IntN(2) == 0:
			d.At = time.Duration(1+r.IntN(20000)) * time.Millisecond
		}
		last = d.At
		p.Divisions = append(p.Divisions, d)
	}
}

// traffic is what hosts do that faults are drawn for; more often what matters more.
var traffic = []string{
	commits, commits, commits, commits, replies, replies, replies, acks, acks, acks, notes, resets, pulls, reads, snapshots, anything, anything,
}

func (p *Plan) drawFaults(r *rand.Rand) {
	of := traffic
	if p.theme != plain {
		of = slices.Concat(traffic, []string{tasking, tasking, timing, timing, notes})
	}
	count := r.IntN(5)
	if p.burst {
		count = 1 + r.IntN(4)
	}
	for i := range count {
		f := Fault{
			Name: fmt.Sprint("f", i), Host: r.IntN(p.Hosts), On: draw(r, of...), When: draw(r, Before, Unanswered, Answered),
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
