package simulation

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/synctest"
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

// A choice is one that the scheduler has.
type choice struct {
	kind int
	do   func()
}

// step lets one thing happen. It reports false when nothing could but that time passes.
func (w *world) step(troubled bool) bool {
	w.steps++
	seedChance(w.plan.Seed<<20 + uint64(w.steps))
	synctest.Wait()
	w.drain()
	w.collect()
	if w.then != nil {
		then := w.then
		w.then = nil
		then()
		return true
	}
	w.happen()
	w.due = w.server.Tick()
	choices := w.choices(troubled)
	if len(choices) == 0 {
		w.wait(w.idle())
		return false
	}
	if w.plan.Pace > 0 {
		choices = append(choices, choice{byTime, func() { time.Sleep(time.Duration(1 + w.rng.Int64N(int64(w.plan.Pace)))) }})
	}
	total := 0
	for _, c := range choices {
		total += w.plan.Weights[c.kind]
	}
	n := w.rng.IntN(total)
	for _, c := range choices {
		if n -= w.plan.Weights[c.kind]; n < 0 {
			c.do()
			break
		}
	}
	return true
}

func (w *world) collect() {
	for host, until := range w.stalled {
		if !time.Now().Before(until) {
			delete(w.stalled, host)
		}
	}
	w.server.Collect()
}

// drain takes the tokens of what is collected now.
func (w *world) drain() {
	for {
		select {
		case <-w.server.Wake():
		case <-w.gates.wake:
		default:
			return
		}
	}
}

// idle is how long nothing happens unless a host does it.
func (w *world) idle() time.Duration {
	next := time.Now().Add(5 * time.Second)
	if !w.due.IsZero() && w.due.Before(next) {
		next = w.due
	}
	for _, e := range w.events {
		if e.at.Before(next) {
			next = e.at
		}
	}
	for _, until := range w.stalled {
		if until.Before(next) {
			next = until
		}
	}
	return max(time.Until(next), time.Microsecond)
}

func (w *world) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.server.Wake():
	case <-w.gates.wake:
	}
}

// choices are what could happen next.
func (w *world) choices(troubled bool) (list []choice) {
	for _, c := range w.server.Clients() {
		if _, stalled := w.stalled[c.Name]; stalled {
			continue
		}
		if c.Ops() > 0 {
			list = append(list, choice{byServer, func() { w.process(c, troubled) }})
		}
		if c.Waiting() > 0 {
			list = append(list, choice{byHost, func() { w.deliver(c) }})
		}
	}
	for _, at := range w.gates.waiting() {
		list = append(list, choice{byGate, func() { w.open(at) }})
	}
	if len(w.inputs)+len(w.answers) > 0 {
		list = append(list, choice{byInput, w.say})
	}
	return list
}

func (w *world) open(at *gate) {
	w.note("%s passes: %s", at.life.name, at.label)
	w.gates.remove(at)
	if at.act != nil {
		at.act()
	}
	close(at.open)
}

func (w *world) deliver(c *memnats.Client) {
	if c.Pinned() && w.loses[c.Name] {
		delete(w.loses, c.Name)
		w.note("%s does not get %s", c.Name, c.Next())
		c.Lose()
		return
	}
	w.note("%s gets %s", c.Name, subject(c.Next()))
	c.Deliver()
}

// subject is one without what chance has made of it.
func subject(s string) string {
	if strings.HasPrefix(s, "_INBOX.") {
		return "an answer"
	}
	return s
}
