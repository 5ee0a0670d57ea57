package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/agents/internal/clock"
)

func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := clock.With(t.Context(), time.Minute)
		defer cancel()
		time.Sleep(50 * time.Second)
		one := clock.Pause(ctx)
		other := clock.Pause(ctx) // two questions at once
		time.Sleep(time.Hour)
		one()
		time.Sleep(time.Hour)
		other()
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatalf("ended while it stood still: %v", context.Cause(ctx))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("after its time: %v", context.Cause(ctx))
		}
	})
}
