package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// What runs beside the fleet has ended when stop returns, also when it takes
// its time.
func TestBackgroundWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		slow := func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Minute)
			ended++
			return ctx.Err()
		}
		quick := func(context.Context) error { return nil }
		stop := background(t.Context(), quick, slow)
		stop()
		if ended != 1 {
			t.Error("stop returned before the last function")
		}
	})
}
