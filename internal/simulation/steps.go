package simulation

import (
	"strings"
	"testing/synctest"
	"time"

	"agenthost/internal/simulation/memnats"
)

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
