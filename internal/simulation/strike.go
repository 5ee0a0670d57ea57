package simulation

import (
	"slices"
	"strings"
	"time"

	"agenthost/internal/simulation/memnats"
)

// process has the server take what a host has sent, unless a fault is in the way.
func (w *world) process(c *memnats.Client, troubled bool) {
	op := c.Peek()
	kind := trafficOf(op)
	host := int(c.Name[0] - 'A')
	w.counts[c.Name+kind]++
	w.counts[c.Name+anything]++
	i := -1
	if troubled {
		i = slices.IndexFunc(w.faults, func(f Fault) bool {
			return f.Host == host && w.counts[c.Name+f.On] >= f.N && (f.On == kind || f.On == anything)
		})
	}
	w.note("server takes of %s: %s %s", c.Name, kind, op.Name())
	if i < 0 {
		w.server.Process(c, memnats.Whole)
		return
	}
	f := w.faults[i]
	w.faults = slices.Delete(w.faults, i, i+1)
	w.fired = append(w.fired, f)
	w.note("fault %s", f)
	switch f.Kind {
	case Lose:
		w.server.Process(c, memnats.Dropped)
	case LoseAnswer:
		if strings.HasPrefix(op.Subject, "$JS.API.CONSUMER.CREATE.") {
			// The client holds a lock while it waits, which the first message wants too: the
			// bubble would not count as waiting, and no time would pass.
			w.server.Process(c, memnats.Dropped)
			return
		}
		w.server.Process(c, memnats.Unanswered)
	case Refuse:
		w.server.Process(c, memnats.Refused)
	case LoseDelivery:
		w.loses[c.Name] = true
		w.server.Process(c, memnats.Whole)
	case Crash, Stop, Stall, Cut, Restart, Outage:
		w.disaster(c, f)
	}
}

func (w *world) disaster(c *memnats.Client, f Fault) {
	strike := func() { w.strike(c, f) }
	if f.When == Before {
		strike()
		return
	}
	w.server.Process(c, memnats.Whole)
	if f.When == Unanswered {
		strike()
		return
	}
	for c.Waiting() > 0 {
		c.Deliver()
	}
	w.then = strike
}

func (w *world) strike(c *memnats.Client, f Fault) {
	switch f.Kind {
	case Crash:
		w.crash(f.Host, f.For)
	case Outage:
		for host := range w.lives {
			w.crash(host, f.For)
		}
	case Stop:
		if l := w.lives[f.Host]; l != nil {
			l.stop()
			w.stopping[f.Host] = f.For
		}
	case Stall:
		w.stalled[hostName(f.Host)] = time.Now().Add(f.For)
	case Cut:
		if !c.Gone() {
			w.server.Cut(c)
		}
	case Restart:
		w.server.Restart()
		w.server.SetDown(true)
		w.after(f.For/2, "server is back", func() { w.server.SetDown(false) })
	case Lose, LoseAnswer, Refuse, LoseDelivery:
	}
}

func (w *world) crash(host int, down time.Duration) {
	if l := w.lives[host]; l != nil {
		l.kill()
		w.bury(host)
		w.revive(host, down)
	}
}

func (w *world) bury(host int) {
	w.dying = append(w.dying, w.lives[host])
	w.lives[host] = nil
	delete(w.stalled, hostName(host))
}

func (w *world) revive(host int, after time.Duration) {
	w.after(after, hostName(host)+" starts again", func() { w.lives[host] = w.newLife(host) })
}
