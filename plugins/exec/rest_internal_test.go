package exec

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRestsGetLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rest
		var got []time.Duration
		for _, lived := range []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, time.Minute, 0} {
			r.after(lived)
			start := time.Now()
			if err := r.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Since(start)/time.Second)
		}
		if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 1, 2}, got); diff != "" {
			t.Errorf("rests in seconds (-want +got):\n%s", diff)
		}
	})
}
