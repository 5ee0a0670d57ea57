package agents

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := withClock(t.Context(), time.Minute)
		defer cancel()
		c := ctx.Value(clockKey{}).(*clock)
		time.Sleep(50 * time.Second)
		c.stop()
		c.stop() // two questions at once
		time.Sleep(time.Hour)
		c.resume()
		time.Sleep(time.Hour)
		c.resume()
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
