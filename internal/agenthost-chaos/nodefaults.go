//go:build unix

package main

import (
	"context"
	"encoding/json"
	"syscall"
	"time"

	"agenthost/bus"
)

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
		lane, err := h.lane(ctx, d)
		if err != nil {
			return false
		}
		subject = "$JS.API.CONSUMER.LEADER.STEPDOWN." + bus.InboundStream + "." + lane
	}
	if d.share < 0.2 {
		subject, nc = "$JS.API.META.LEADER.STEPDOWN", h.sys
	}
	msg, err := nc.RequestWithContext(ctx, subject, nil)
	var answer struct{ Success bool }
	return err == nil && json.Unmarshal(msg.Data, &answer) == nil && answer.Success
}
