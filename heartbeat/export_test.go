package heartbeat

import (
	"context"
	"time"
)

// Arm has the server hold the next firing of an entry.
func (k *Keeper) Arm(ctx context.Context, e Entry, now time.Time) (bool, error) {
	return k.arm(ctx, e, now)
}
