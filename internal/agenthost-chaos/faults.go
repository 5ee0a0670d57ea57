//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"agenthost/bus"
	"agenthost/internal/agenthost-chaos/load"
	"agenthost/internal/agenthost-chaos/proxy"

	"github.com/nats-io/nats.go"
)

// A fault is one kind of harm. It returns when the harm is over, or false at
// once where what it would harm is being harmed already.
type fault struct {
	often int // how often it is drawn, beside the others
	do    func(h *harness, d *dice) bool
}

// dice are the random choices of one fault, drawn before it begins.
type dice struct {
	target int
	share  float64 // of the longest time, or between two ways
	way    int
}

func draw(rng *rand.Rand) *dice {
	return &dice{target: rng.IntN(1 << 16), share: rng.Float64(), way: rng.IntN(2)}
}

// upTo is a part of a time.
func (d *dice) upTo(most time.Duration) time.Duration { return time.Duration(d.share * float64(most)) }

// last lets time pass while the harm lasts.
func last(d time.Duration) { <-time.After(d) }

var faults = map[string]fault{
	"host-kill":    {12, onHost(func(_ *harness, m *member, d *dice) { m.Kill(); last(d.upTo(3 * time.Second)) })},
	"host-pause":   {8, onHost(func(_ *harness, m *member, d *dice) { pause(m.Signal, d.upTo(9*time.Second)) })},
	"host-restart": {6, onHost(func(_ *harness, m *member, _ *dice) { m.end(time.Minute) })},
	"host-drain":   {6, onHost(drain)},
	"host-reload":  {2, reload},
	"partitions":   {3, repartition},
	"tool-kill":    {2, onHost(func(_ *harness, m *member, _ *dice) { m.KillChildren("agenthost-chaos") })},
	"node-kill":    {3, onNode(func(_ *harness, n *node, d *dice) { n.Kill(); last(d.upTo(3 * time.Second)) })},
	"node-pause":   {2, onNode(func(_ *harness, n *node, d *dice) { pause(n.Signal, d.upTo(6*time.Second)) })},
	"node-restart": {2, onNode(func(_ *harness, n *node, _ *dice) { n.interrupt() })},
	"node-cut":     {2, onNode(cutNode)},
	"node-full":    {2, fullDisk},
	"node-lost":    {1, onStore(loseStore)},
	"bit-flip":     {1, onStore(flipBit)},
	"file-cut":     {1, onStore(cutFile)},
	"all-nodes":    {1, killAllNodes},
	"rolling":      {1, rollNodes},
	"leader-kill":  {2, killLeader},
	"step-down":    {3, stepDown},
	"cut": {6, onHost(func(_ *harness, m *member, d *dice) {
		m.each(func(p *proxy.Proxy) { p.SetCut(true) })
		last(d.upTo(4 * time.Second))
	})},
	"half-open":    {6, onHost(halfOpen)},
	"reset":        {6, onHost(func(_ *harness, m *member, _ *dice) { m.each((*proxy.Proxy).Reset) })},
	"slow-link":    {2, onHost(slowLink)},
	clockJump:      {3, jumpClock},
	"model-errors": {1, model(load.ModelFails, 2*time.Second)},
	"model-hangs":  {1, model(load.ModelHangs, 4*time.Second)},
	"hook-hangs":   {2, hookHangs},
	"tool-service": {2, serviceAway},
}

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

func onNode(do func(*harness, *node, *dice)) func(*harness, *dice) bool {
	return func(h *harness, d *dice) bool {
		n := h.fleet.nodes[d.target%len(h.fleet.nodes)]
		return harmNode(h, n, d, do)
	}
}

func harmNode(h *harness, n *node, d *dice, do func(*harness, *node, *dice)) bool {
	if !n.harm.TryLock() {
		return false
	}
	if !h.nodesHarmed.take(1) {
		n.harm.Unlock()
		return false
	}
	defer h.nodesHarmed.releaseAfter(h.opt.rest)
	do(h, n, d)
	h.report(n.Start())
	n.harm.Unlock()
	h.report(h.whole(recovers))
	return true
}

func (m *member) each(do func(*proxy.Proxy)) {
	for _, p := range m.lines {
		do(p)
	}
}

// pause stops a process for a while.
func pause(signal func(syscall.Signal), d time.Duration) {
	signal(syscall.SIGSTOP)
	last(d)
	signal(syscall.SIGCONT)
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

const clockJump = "clock-jump"

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

func cutNode(_ *harness, n *node, d *dice) {
	for _, p := range n.routes {
		p.SetCut(true)
	}
	last(d.upTo(6 * time.Second))
	for _, p := range n.routes {
		p.Heal()
	}
}

// killAllNodes kills the whole cluster at once.
func killAllNodes(h *harness, d *dice) bool {
	if !h.nodesHarmed.take(1) {
		return false
	}
	defer h.nodesHarmed.releaseAfter(h.opt.rest)
	var locked []*node
	for _, n := range h.fleet.nodes {
		if n.harm.TryLock() {
			locked = append(locked, n)
		}
	}
	for _, n := range locked {
		n.Signal(syscall.SIGKILL)
	}
	last(d.upTo(2 * time.Second))
	for _, n := range locked {
		<-n.Exited()
		h.report(n.Start())
		n.harm.Unlock()
	}
	h.report(h.whole(recovers))
	return len(locked) > 0
}

// rollNodes restarts the servers one after the other, each when all are whole, as for an upgrade.
func rollNodes(h *harness, d *dice) bool {
	if !h.nodesHarmed.take(1) {
		return false
	}
	defer h.nodesHarmed.releaseAfter(h.opt.rest)
	for i := range h.fleet.nodes {
		n := h.fleet.nodes[(d.target+i)%len(h.fleet.nodes)]
		n.harm.Lock()
		n.interrupt()
		h.report(n.Start())
		n.harm.Unlock()
		if err := h.whole(recovers); err != nil {
			h.note("%s was the last to be restarted: %v", n.Name, err)
			return true
		}
	}
	return true
}

var ledStreams = []string{bus.InboundStream, bus.OutboundStream, bus.SessionsStream, bus.RoutesStream, bus.EventsStream}

// killLeader kills the node that leads a stream.
func killLeader(h *harness, d *dice) bool {
	ctx, cancel := context.WithTimeout(h.ctx, 2*time.Second)
	defer cancel()
	stream, err := h.js.Stream(ctx, ledStreams[d.target%len(ledStreams)])
	if err != nil || stream.CachedInfo().Cluster == nil {
		return false
	}
	for _, n := range h.fleet.nodes {
		if n.Name == stream.CachedInfo().Cluster.Leader {
			return harmNode(h, n, d, func(_ *harness, n *node, d *dice) { n.Kill(); last(d.upTo(2 * time.Second)) })
		}
	}
	return false
}

// stepDown has a stream, a consumer of it or the cluster choose another leader.
func stepDown(h *harness, d *dice) bool {
	if !h.steady.TryRLock() {
		return false
	}
	defer h.steady.RUnlock()
	ctx, cancel := context.WithTimeout(h.ctx, 2*time.Second)
	defer cancel()
	name := ledStreams[d.target%len(ledStreams)]
	subject := "$JS.API.STREAM.LEADER.STEPDOWN." + name
	nc := h.nc
	if d.way == 1 {
		stream, err := h.js.Stream(ctx, bus.InboundStream)
		if err != nil {
			return false
		}
		var lanes []string
		names := stream.ConsumerNames(ctx)
		for lane := range names.Name() {
			lanes = append(lanes, lane)
		}
		if len(lanes) == 0 {
			return false
		}
		slices.Sort(lanes)
		subject = "$JS.API.CONSUMER.LEADER.STEPDOWN." + bus.InboundStream + "." + lanes[d.target%len(lanes)]
	}
	if d.share < 0.2 {
		subject, nc = "$JS.API.META.LEADER.STEPDOWN", h.sys
	}
	msg, err := nc.RequestWithContext(ctx, subject, nil)
	var answer struct{ Success bool }
	return err == nil && json.Unmarshal(msg.Data, &answer) == nil && answer.Success
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

// A quota bounds how many processes of a kind are harmed at once, so that a fleet
// has a host and the cluster a majority most of the time.
type quota struct {
	mu    sync.Mutex
	taken int
}

func (q *quota) take(most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken >= max(most, 1) {
		return false
	}
	q.taken++
	return true
}

// releaseAfter leaves time to recover: a cluster that is harmed while it still
// chooses its leaders never has any.
func (q *quota) releaseAfter(rest time.Duration) { time.AfterFunc(rest, q.release) }

func (q *quota) release() {
	q.mu.Lock()
	q.taken--
	q.mu.Unlock()
}

// A harm is one fault that was done.
type harm struct {
	kind      string
	at, until time.Time
}

// breakThings does a fault a second, of those that are chosen, until ctx ends,
// and returns when all of them are over.
func (h *harness) breakThings(ctx context.Context, rng *rand.Rand, chosen []string) {
	var bag []string
	for _, kind := range chosen {
		for range faults[kind].often {
			bag = append(bag, kind)
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(h.opt.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		tries := make([]attempt, 12)
		for n := range tries {
			tries[n] = attempt{bag[rng.IntN(len(bag))], draw(rng)}
		}
		all.Go(func() { h.harmOnce(tries) })
	}
}

// An attempt is a fault as it was drawn.
type attempt struct {
	kind string
	dice *dice
}

// harmOnce does the first fault that can be done now.
func (h *harness) harmOnce(tries []attempt) {
	for _, a := range tries {
		begun := time.Now()
		if faults[a.kind].do(h, a.dice) {
			h.harmed(a.kind, begun)
			return
		}
	}
}

func kinds() []string { return slices.Sorted(maps.Keys(faults)) }

// dial connects to the nodes themselves, as the people and the checker do.
func dial(url, name string, opts ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect(url, append(opts, nats.Name(name), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond), nats.ReconnectBufSize(-1), nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2))...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	return nc, nil
}
