//go:build unix

package main

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"agenthost/internal/agenthost-chaos/load"
	"agenthost/internal/agenthost-chaos/proxy"
)

// onHost harms one host, and starts it if it has ended. Until it is ready again it counts as
// harmed, but may be harmed once more.
func onHost(do func(*harness, *member, *dice)) func(*harness, *dice) bool {
	return func(h *harness, d *dice) bool {
		m := h.fleet.hosts[d.target%len(h.fleet.hosts)]
		if !m.harm.TryLock() {
			return false
		}
		if !h.hostsHarmed.take(len(h.fleet.hosts) - 1) {
			m.harm.Unlock()
			return false
		}
		defer h.hostsHarmed.release()
		life, ready := m.PID(), m.Count(readyLine)
		do(h, m, d)
		m.each((*proxy.Proxy).Heal)
		h.report(m.Start())
		restarted := m.PID() != life
		m.harm.Unlock()
		if restarted {
			h.report(h.await(h.ctx, recovers, m.Name+" to be ready", func(context.Context) error { return m.readyAfter(ready) }))
		}
		return true
	}
}

func (m *member) each(do func(*proxy.Proxy)) {
	for _, p := range m.lines {
		do(p)
	}
}

// end ends the host in order, or by force when that takes too long.
func (m *member) end(within time.Duration) {
	m.Signal(syscall.SIGTERM)
	select {
	case <-m.Exited():
	case <-time.After(within):
		m.Kill()
	}
}

// drain ends a host by the command, or as SIGTERM does where NATS is away.
func drain(h *harness, m *member, _ *dice) {
	ctx, cancel := context.WithTimeout(h.ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.fleet.binary, "drain", m.Name, "-s", h.fleet.urls(), "--timeout", "20s")
	cmd.Dir = m.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		h.note("drain %s: %v: %s", m.Name, err, out)
	}
	m.end(time.Minute)
}

func reload(h *harness, _ *dice) bool { return reconfigure(h, (*member).rewrite) }

// repartition gives agents another number of partitions while they are at work, also none.
func repartition(h *harness, d *dice) bool {
	return reconfigure(h, func(m *member) error { return m.repartition(d.target % 7) })
}

// reconfigure changes the configuration of all hosts, and has them read it.
func reconfigure(h *harness, change func(*member) error) bool {
	for _, m := range h.fleet.hosts {
		h.report(change(m))
		if !m.harm.TryLock() {
			continue // it reads the file at its next start
		}
		m.Signal(syscall.SIGHUP)
		m.harm.Unlock()
	}
	return true
}

func halfOpen(_ *harness, m *member, d *dice) {
	m.each(func(p *proxy.Proxy) { p.Swallow(proxy.Direction(d.way), true) })
	last(d.upTo(9 * time.Second))
}

func slowLink(_ *harness, m *member, d *dice) {
	m.each(func(p *proxy.Proxy) { p.SetDelay(d.upTo(200 * time.Millisecond)) })
	last(5 * time.Second)
}

// jumpMost is how far a clock jumps at most, either way.
const jumpMost = 5 * time.Minute

// jumpClock sets the wall clock of a host wrong for a while, which may meet other faults and
// outlive it. The clocks of the others are right meanwhile.
func jumpClock(h *harness, d *dice) bool {
	if !h.jumped.TryLock() {
		return false
	}
	defer h.jumped.Unlock()
	ahead := d.upTo(jumpMost).Round(time.Second)
	if d.way == 1 {
		ahead = -ahead
	}
	m := h.fleet.hosts[d.target%len(h.fleet.hosts)]
	h.note("the clock of %s is %s ahead", m.Name, ahead)
	m.clock.Set(ahead)
	last(time.Duration(1+d.target%15) * time.Second)
	m.clock.Set(0)
	return true
}

func model(mode int32, most time.Duration) func(*harness, *dice) bool {
	return func(h *harness, d *dice) bool {
		if !h.model.Mode.CompareAndSwap(load.ModelWell, mode) {
			return false
		}
		last(d.upTo(most))
		h.model.Mode.Store(load.ModelWell)
		return true
	}
}

func hookHangs(h *harness, d *dice) bool {
	if !h.hook.Hangs.CompareAndSwap(false, true) {
		return false
	}
	last(d.upTo(4 * time.Second))
	h.hook.Hangs.Store(false)
	return true
}

func serviceAway(h *harness, d *dice) bool {
	h.billing.Stop()
	last(d.upTo(3 * time.Second))
	h.report(h.billing.Start())
	return true
}
