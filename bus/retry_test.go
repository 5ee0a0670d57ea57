package bus_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
)

func TestAgain(t *testing.T) {
	refused := errors.New("refused")
	tests := map[string]struct {
		answers []time.Duration // of each question, after how long; 0: never
		refuses bool
		want    int           // whose answer counts; 0: none
		took    time.Duration // until then
	}{
		"at once":                  {[]time.Duration{time.Millisecond}, false, 1, time.Millisecond},
		"the first was lost":       {[]time.Duration{0, time.Millisecond}, false, 2, time.Second + time.Millisecond},
		"three were lost":          {[]time.Duration{0, 0, 0, time.Millisecond}, false, 4, 3*time.Second + time.Millisecond},
		"answers take long":        {[]time.Duration{0, 2500 * time.Millisecond, 2500 * time.Millisecond}, false, 2, 3500 * time.Millisecond},
		"none comes":               {nil, false, 0, 5 * time.Second},
		"it is refused":            {[]time.Duration{time.Millisecond}, true, 0, time.Millisecond},
		"it is refused in the end": {[]time.Duration{0, time.Millisecond}, true, 0, time.Second + time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), bus.APITimeout)
				defer cancel()
				var asked atomic.Int64
				begun := time.Now()
				got, err := bus.Again(ctx, func(ctx context.Context) (int, error) {
					n, after := int(asked.Add(1)), time.Duration(0)
					if n <= len(tt.answers) {
						after = tt.answers[n-1]
					}
					if after == 0 {
						<-ctx.Done()
						return 0, ctx.Err()
					}
					if bus.Pause(ctx, after); ctx.Err() != nil {
						return 0, ctx.Err()
					}
					if tt.refuses {
						return 0, refused
					}
					return n, nil
				})
				want := error(nil)
				switch {
				case tt.refuses:
					want = refused
				case tt.want == 0:
					want = context.DeadlineExceeded
				}
				if got != tt.want || !errors.Is(err, want) {
					t.Errorf("got %d, %v, want %d, %v", got, err, tt.want, want)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
			})
		})
	}
}
