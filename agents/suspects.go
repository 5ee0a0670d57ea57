package agents

import (
	"slices"
	"sync"
	"time"

	"agenthost/run"
)

// aloneFor is how long a suspected run keeps others waiting. What brings a host down
// mostly does so at once, in far less; a model that hangs takes minutes, and the
// messages behind it have to get their answers.
const aloneFor = 30 * time.Second

// A gate lets suspected runs in one at a time, in the order they came. The next is
// let in when the one before has ended, is suspended, or has run for aloneFor. A
// run that waits holds neither a goroutine nor a slot. The zero gate is ready.
type gate struct {
	mu      sync.Mutex
	alone   *conversation // let in last, while others wait for it
	timer   *time.Timer   // ends that
	inside  []*conversation
	waiting []waitingRun
}

// A waitingRun waits to be let in.
type waitingRun struct {
	c     *conversation
	since time.Time
	begin func()
}

// enter reports whether the run of c may go on now. If not, begin is called when it
// may.
func (g *gate) enter(c *conversation, begin func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case slices.Contains(g.inside, c):
		return true
	case g.alone == nil:
		g.admit(c)
		return true
	}
	g.waiting = append(g.waiting, waitingRun{c, time.Now(), begin})
	return false
}

// admit is called with the lock held.
func (g *gate) admit(c *conversation) {
	g.alone, g.inside = c, append(g.inside, c)
	g.timer = time.AfterFunc(aloneFor, func() { g.next(c) })
}

// leave ends what enter began.
func (g *gate) leave(c *conversation) {
	g.mu.Lock()
	g.inside = slices.DeleteFunc(g.inside, func(other *conversation) bool { return other == c })
	g.mu.Unlock()
	g.next(c)
}

// next lets in the run that has waited longest, if it is c that it waits for.
func (g *gate) next(c *conversation) {
	g.mu.Lock()
	if g.alone != c {
		g.mu.Unlock()
		return
	}
	g.timer.Stop()
	g.alone = nil
	begin := func() {}
	if len(g.waiting) > 0 {
		w := g.waiting[0]
		g.waiting = slices.Delete(g.waiting, 0, 1)
		g.admit(w.c)
		begin = w.goOn
	}
	g.mu.Unlock()
	begin()
}

func (w waitingRun) goOn() {
	w.c.few().Info().Dur("waited", time.Since(w.since)).Msg("resume suspected run: its turn has come")
	w.begin()
}

// dismiss has the runs of r that wait begin now: r is stopping, and they only give
// up what they hold.
func (g *gate) dismiss(r *Runtime) {
	g.mu.Lock()
	var gone []waitingRun
	g.waiting = slices.DeleteFunc(g.waiting, func(w waitingRun) bool {
		if w.c.r == r {
			gone = append(gone, w)
		}
		return w.c.r == r
	})
	g.mu.Unlock()
	for _, w := range gone {
		w.begin()
	}
}

// count is how many runs of r wait.
func (g *gate) count(r *Runtime) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.waiting {
		if w.c.r == r {
			n++
		}
	}
	return n
}

// waitsAlone reports whether the run that an owner before has left waits until other
// suspects have had their try; then c is scheduled again when it may go on. The
// suspects of an agent wait for each other, and of all agents those that have one
// try left: so what brings hosts down takes no other message of any agent with it
// to the end, and yet delays no other agent's.
func (c *conversation) waitsAlone(left *run.Run) bool {
	failures := c.failures(left)
	if failures < suspectFrom-1 || failures >= attempts {
		return false
	}
	begin := func() { c.r.schedule(c) }
	waits := !c.r.suspects.enter(c, begin) || failures == attempts-1 && !c.r.parts.lastTries.enter(c, begin)
	switch {
	case !waits:
	case c.r.stopping.Load(): // it may have come too late to be dismissed
		c.r.dismissSuspects()
	default:
		c.few().Warn().Int("failures", failures).
			Msg("resume suspected run: it may have ended its host, and waits until others of which that is true have had their try")
	}
	return waits
}

// failures is how many tries of the run in the log have failed their host.
func (c *conversation) failures(left *run.Run) int {
	t := runner{}
	c.mu.Lock()
	for _, it := range c.queue {
		if it.again() && slices.ContainsFunc(left.Inputs, func(in run.Input) bool { return in.ID == it.input.ID }) {
			t.items = append(t.items, it)
		}
	}
	c.mu.Unlock()
	attempt, handed := t.nextTry(left)
	return attempt - handed - 1
}

// endTry lets other suspects have theirs.
func (c *conversation) endTry() {
	c.r.parts.lastTries.leave(c)
	c.r.suspects.leave(c)
}

func (r *Runtime) dismissSuspects() {
	r.suspects.dismiss(r)
	r.parts.lastTries.dismiss(r)
}

// suspectsWaiting is how many runs wait to be tried again.
func (r *Runtime) suspectsWaiting() int { return r.suspects.count(r) + r.parts.lastTries.count(r) }
