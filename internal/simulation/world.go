package simulation

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"agenthost/internal/simulation/memnats"

	"github.com/rs/zerolog"
)

// Kinds of steps.
const (
	byServer = iota // it takes what a host has sent
	byHost          // a host gets what the server has sent
	byGate          // a model or a tool goes on
	byInput         // a person says something
	byTime          // time passes though something else could happen
	kinds
)

// How long a simulation may take, in its own time, and in steps.
const (
	debounce   = 500 * time.Millisecond
	troubled   = 60 * time.Second // then no more faults happen
	settling   = 3 * time.Minute
	mostSteps  = 4000 // with faults
	stepsAtAll = 60000
	lingering  = 6 * time.Second // what is sent again comes by then
)

// A world is one simulation.
type world struct {
	plan    Plan
	rng     *rand.Rand
	log     zerolog.Logger
	server  *memnats.Server
	gates   gates
	effects effects
	lives   []*life // by host; nil while it is down
	dying   []*life

	inputs   []Input // that nobody has said yet
	answers  []Input // likewise, to what was asked
	answered int
	next     map[string]int // how much was said, by session
	said     []said
	timers   timers
	division division
	faults   []Fault
	counts   map[string]int // by host and traffic
	loses    map[string]bool
	stalled  map[string]time.Time // until when
	then     func()
	events   []event
	stopping map[int]time.Duration // hosts that stop, and for how long they are down

	began time.Time
	steps int
	due   time.Time // of the server's timers
	fired []Fault
	trace hash.Hash64
	lines func(string)
}

// said is an input that was accepted.
type said struct {
	Input
	seq uint64
	at  time.Time
}

// An event happens at a time.
type event struct {
	at   time.Time
	name string
	do   func()
}

func newWorld(p Plan, streams []memnats.StreamConfig, log zerolog.Logger, lines func(string)) *world {
	w := &world{
		plan: p, rng: rand.New(rand.NewPCG(p.Seed, 2)), log: log, server: memnats.New(streams),
		effects: effects{map[string]int{}, map[string]int{}}, lives: make([]*life, p.Hosts), inputs: slices.Clone(p.Inputs), faults: slices.Clone(p.Faults),
		next: map[string]int{}, timers: timers{entries: map[string]entry{}, beats: map[string]int{}}, counts: map[string]int{}, loses: map[string]bool{}, stalled: map[string]time.Time{}, stopping: map[int]time.Duration{},
		began: time.Now(), trace: fnv.New64a(), lines: lines,
	}
	w.gates.wake = make(chan struct{}, 1)
	w.server.Stored = w.stored
	for i := range p.Inputs {
		if p.Inputs[i].Again {
			again := p.Inputs[i]
			again.N = 0
			w.inputs = append(w.inputs, again)
		}
	}
	return w
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	line := fmt.Sprintf("%6d %10s  %s\n", w.steps, time.Since(w.began), fmt.Sprintf(format, args...))
	_, _ = w.trace.Write([]byte(line))
	if w.lines != nil {
		w.lines(line)
	}
}

// run lets everything happen; the answer is what kept it from coming to rest.
func (w *world) run() (trouble string) {
	for host := range w.lives {
		w.after(time.Duration(host)*7*time.Millisecond, "start", func() { w.lives[host] = w.newLife(host) })
	}
	w.plans()
	for w.steps <= mostSteps && time.Since(w.began) <= troubled {
		if !w.step(true) && w.atRest() {
			break
		}
	}
	w.calm()
	limit := time.Now()
	for _, e := range w.events {
		limit = later(limit, e.at)
	}
	limit = limit.Add(settling)
	rest := time.Time{}
	for rest.IsZero() || time.Since(rest) < lingering {
		moved := w.step(false)
		switch {
		case !moved && w.atRest():
			if rest.IsZero() {
				rest = time.Now()
			}
		case !w.atRest():
			rest = time.Time{}
		}
		if time.Now().After(limit) || w.steps > stepsAtAll {
			trouble = fmt.Sprintf("it does not come to rest: %d messages are not done, after %s and %d steps", w.server.Unacked(), time.Since(w.began), w.steps)
			break
		}
	}
	return trouble
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// calm ends all trouble: hosts that are down come back, and what is stalled goes on.
func (w *world) calm() {
	w.note("calm")
	w.faults, w.plan.Pace = nil, 0
	clear(w.loses)
	clear(w.stalled)
}

// atRest reports whether all was said, all messages are done, and nothing waits for its time.
func (w *world) atRest() bool {
	return len(w.inputs)+len(w.answers) == 0 && w.server.Unacked() == 0 && len(w.gates.waiting()) == 0 &&
		len(w.events) == 0 && len(w.stopping) == 0 && !w.waits()
}

// end kills all hosts and waits until nothing of them is left.
func (w *world) end() {
	for _, l := range w.lives {
		if l != nil {
			l.kill()
			w.dying = append(w.dying, l)
		}
	}
	for _, l := range w.dying {
		<-l.over
	}
}

func (w *world) after(d time.Duration, name string, do func()) {
	w.events = append(w.events, event{time.Now().Add(d), name, do})
}

// happen does what is due.
func (w *world) happen() {
	for host, down := range w.stopping {
		l := w.lives[host]
		if l == nil {
			delete(w.stopping, host)
			continue
		}
		select {
		case <-l.over:
			delete(w.stopping, host)
			w.bury(host)
			w.revive(host, down)
		default:
		}
	}
	now := time.Now()
	for i := 0; i < len(w.events); {
		if e := w.events[i]; !e.at.After(now) {
			w.events = slices.Delete(w.events, i, i+1)
			w.note("%s", e.name)
			e.do()
		} else {
			i++
		}
	}
}
