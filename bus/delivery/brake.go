package delivery

import (
	"context"
	"sync/atomic"
	"time"

	"agenthost/bus"
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
