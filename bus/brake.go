package bus

import (
	"context"
	"sync/atomic"
	"time"
)

// A Brake slows lanes down by a pause before each message, while the host is
// short of memory. The zero Brake is off.
type Brake struct{ pause atomic.Int64 }

const (
	// FirstBrake is a pause that slows a lane down a little.
	FirstBrake = 250 * time.Microsecond
	// longestBrake is the longest one. What a lane has pulled it hands out within
	// pinnedTTL also then: else it would lose its pin.
	longestBrake = 16 * time.Millisecond
)

// Set makes the pause d, or the longest one.
func (b *Brake) Set(d time.Duration) { b.pause.Store(int64(min(d, longestBrake))) }

// Pause is how long a lane waits before each message.
func (b *Brake) Pause() time.Duration { return time.Duration(b.pause.Load()) }

func (b *Brake) wait(ctx context.Context) {
	if b == nil || b.pause.Load() == 0 {
		return
	}
	pause(ctx, b.Pause())
}
