//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// recovers is how long the next fault waits at most for a server to have all that the others
// have, and for a host to be ready.
const recovers = 3 * time.Minute

// onStore harms what a server has stored. The others have all of it before, and it has all
// again when the fault is over: what fewer than two copies have nothing brings back.
func onStore(do func(*harness, *node, *dice) error) func(*harness, *dice) bool {
	return func(h *harness, d *dice) bool {
		n := h.fleet.nodes[d.target%len(h.fleet.nodes)]
		if h.whole(2*time.Second) != nil {
			return false
		}
		return harmNode(h, n, d, func(h *harness, n *node, d *dice) {
			if err := h.whole(10 * time.Second); err != nil {
				h.note("%s is spared: %v", n.Name, err)
				return
			}
			h.report(do(h, n, d))
		})
	}
}

// whole waits until every server has all there is, by its own word.
func (h *harness) whole(within time.Duration) error {
	return h.await(h.ctx, within, "whole copies", func(ctx context.Context) error {
		for _, n := range h.fleet.nodes {
			if err := n.healthy(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func (n *node) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.monitor+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // nothing was read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", n.Name, resp.Status)
	}
	return nil
}

// stopWithin is how long a server may take to end: with a full disk some never do.
const stopWithin = 20 * time.Second

// stop ends a server in order, or by force.
func (n *node) stop(d *dice) {
	if d.way == 0 {
		n.interrupt()
		return
	}
	n.Signal(syscall.SIGKILL)
	<-n.Exited()
}

// interrupt ends a server in order, and by force when that takes too long.
func (n *node) interrupt() {
	n.Signal(syscall.SIGINT)
	select {
	case <-n.Exited():
	case <-time.After(stopWithin):
		n.Signal(syscall.SIGKILL)
		<-n.Exited()
	}
}

// fullDisk leaves a server no room to write. NATS stores nothing there any more until it is
// started again.
func fullDisk(h *harness, d *dice) bool {
	if h.fleet.disk == nil {
		return false
	}
	return harmNode(h, h.fleet.nodes[len(h.fleet.nodes)-1], d, func(h *harness, n *node, d *dice) {
		h.report(h.fleet.disk.fill())
		last(d.upTo(6 * time.Second))
		n.stop(d)
		h.report(h.fleet.disk.free())
	})
}

// cutFile cuts the newest block of a stream short, as a disk does that forgets what it had
// flushed. NATS fills it up from the others.
func cutFile(h *harness, n *node, d *dice) error {
	n.stop(d)
	return h.damage(n, d, func(data []byte) []byte { return data[:int(d.share*float64(len(data)))] })
}

// flipBit has a copy in service for a while that lacks messages, which NATS neither notices
// nor repairs; then it is made anew, as somebody does who has been told so by scrub. While
// it is there no leader is asked to step down: nothing is promised of a copy that lacks
// messages and leads.
func flipBit(h *harness, n *node, d *dice) error {
	h.steady.Lock()
	defer h.steady.Unlock()
	n.stop(d)
	err := h.damage(n, d, func(data []byte) []byte {
		if len(data) > 0 {
			data[int(d.share*float64(len(data)))] ^= 1 << (d.target % 8)
		}
		return data
	})
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	last(d.upTo(5 * time.Second))
	return loseStore(h, n, d)
}

// loseStore takes all that a server has stored: a node that is replaced.
func loseStore(_ *harness, n *node, d *dice) error {
	n.stop(d)
	return os.RemoveAll(filepath.Join(n.store, "jetstream"))
}

// damage changes the newest block of a stream in the store of a stopped server.
func (h *harness) damage(n *node, d *dice, change func([]byte) []byte) error {
	stream := ledStreams[d.target%len(ledStreams)]
	blocks, err := filepath.Glob(filepath.Join(n.store, "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		return fmt.Errorf("%s has no blocks of %s", n.Name, stream)
	}
	file := slices.MaxFunc(blocks, func(a, b string) int { return numbered(a) - numbered(b) })
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := change(data)
	h.note("%s: %s of %s had %d bytes, has %d", n.Name, filepath.Base(file), stream, len(data), len(changed))
	return os.WriteFile(file, changed, 0o600)
}

// numbered is the number of a block: they are 1.blk, 2.blk and so on.
func numbered(block string) (n int) {
	_, _ = fmt.Sscanf(filepath.Base(block), "%d.blk", &n) // 0 for another name
	return n
}
