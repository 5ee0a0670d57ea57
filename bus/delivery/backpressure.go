package delivery

import (
	"context"
	"sync/atomic"
	"time"

	"agenthost/bus"
)

const (
	// maxHeldBytes bounds the payloads a lane keeps in memory. At the bound the
	// lane slows down to a message in slowest.
	maxHeldBytes = 256 << 20
	slowest      = pinnedTTL / 3
)

// A Brake slows lanes down by a pause before each message, while the host is
// short of memory. The zero Brake is off.
type Brake struct{ pause atomic.Int64 }

// The pauses of a Brake. What a lane has pulled it hands out within pinnedTTL
// also at the longest: else it would lose its pin.
const (
	firstBrake   = 250 * time.Microsecond
	longestBrake = 16 * time.Millisecond
)

// Harder doubles the pause.
func (b *Brake) Harder() {
	b.pause.Store(int64(min(max(2*b.Pause(), firstBrake), longestBrake)))
}

// Ease halves the pause, and ends one that is short.
func (b *Brake) Ease() {
	half := b.Pause() / 2
	if half < firstBrake {
		half = 0
	}
	b.pause.Store(int64(half))
}

// Longest reports whether Harder has no effect any more.
func (b *Brake) Longest() bool { return b.Pause() >= longestBrake }

// Pause is how long a lane waits before each message.
func (b *Brake) Pause() time.Duration { return time.Duration(b.pause.Load()) }

func (b *Brake) wait(ctx context.Context) {
	if b == nil || b.pause.Load() == 0 {
		return
	}
	bus.Pause(ctx, b.Pause())
}

func (h *heldMessages) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes > maxHeldBytes
}

// waitForRoom waits until a message is removed, but no longer than slowest.
func (h *heldMessages) waitForRoom(ctx context.Context) {
	timer := time.NewTimer(slowest)
	defer timer.Stop()
	select {
	case <-h.freed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// waitForRoom slows the lane down while it holds too many bytes.
func (l *Lane) waitForRoom(ctx context.Context) {
	if l.held.full() {
		l.keepPin()
		l.held.waitForRoom(ctx)
	}
}
