//go:build unix

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
	"lane-edit":    {2, editLane},
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

// pause stops a process for a while.
func pause(signal func(syscall.Signal), d time.Duration) {
	signal(syscall.SIGSTOP)
	last(d)
	signal(syscall.SIGCONT)
}

const clockJump = "clock-jump"

var ledStreams = []string{bus.InboundStream, bus.OutboundStream, bus.SessionsStream, bus.RoutesStream, bus.EventsStream}

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
