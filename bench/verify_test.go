package bench_test

import (
	"testing"
	"time"

	"agenthost/bench"

	"github.com/google/go-cmp/cmp"
)

// Messages 0 to 5 go to two sessions in turns.
func TestVerify(t *testing.T) {
	tests := map[string]struct {
		answered      []int
		refused, kept int
		want          bench.Faults
		unfinished    bool
	}{
		"all":                        {answered: []int{0, 1, 2, 3, 4, 5}, kept: 6},
		"sessions overtake":          {answered: []int{0, 2, 4, 1, 3, 5}, kept: 6},
		"out of order":               {answered: []int{0, 1, 4, 2, 3, 5}, kept: 6, want: bench.Faults{Disorder: 1}},
		"lost":                       {answered: []int{0, 1, 2, 5}, kept: 4, want: bench.Faults{Lost: 2}, unfinished: true},
		"refused":                    {answered: []int{0, 1, 2, 3, 4}, refused: 1, kept: 5, want: bench.Faults{Refused: 1}, unfinished: true},
		"seen twice, but kept once":  {answered: []int{0, 1, 1, 2, 3, 4, 5}, kept: 6},
		"kept twice":                 {answered: []int{0, 1, 1, 2, 3, 4, 5}, kept: 7, want: bench.Faults{Duplicates: 1}},
		"nothing came":               {want: bench.Faults{Lost: 6}, unfinished: true},
		"one is kept and not heard ": {answered: []int{0, 1, 2, 3, 4}, kept: 6, want: bench.Faults{Lost: 1, Duplicates: 1}, unfinished: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := bench.NewVerifier("b1", 2)
			now := time.Now()
			for _, i := range tt.answered {
				v.Take(`{"in_reply_to":"`+v.ID(i, now)+`"}`, now)
			}
			v.Expect(6)
			select {
			case <-v.Done():
				if tt.unfinished {
					t.Error("it is done, and not all is answered")
				}
			default:
				if !tt.unfinished {
					t.Error("it is not done, and all is answered")
				}
			}
			if diff := cmp.Diff(tt.want, v.Side(6, tt.refused, tt.kept).Faults); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestVerifyTimesFromWhenItWasDue(t *testing.T) {
	v := bench.NewVerifier("b1", 1)
	due := time.Now()
	v.Take(`{"id":"x","in_reply_to":"`+v.ID(0, due)+`","kind":"reply"}`, due.Add(40*time.Millisecond))
	if got := v.Side(1, 0, 1); got.Max != 40 || got.P50 != 40 {
		t.Errorf("got %v ms, %v at most, want 40", got.P50, got.Max)
	}
}

func TestVerifyCountsErrors(t *testing.T) {
	v := bench.NewVerifier("b1", 1)
	v.Take(`{"kind":"error","text":"sorry","in_reply_to":"`+v.ID(0, time.Now())+`"}`, time.Now())
	if got := v.Side(1, 0, 1).Faults; got != (bench.Faults{Failed: 1}) {
		t.Errorf("got %+v, want one that failed", got)
	}
}

// Others write to the same channel, and rounds before this one may be late.
func TestVerifyPassesOverOthers(t *testing.T) {
	v := bench.NewVerifier("b1", 1)
	before := bench.NewVerifier("b12", 1)
	for _, reply := range []string{
		`hello`, `{"in_reply_to":"tg-1"}`, `{"in_reply_to":"b1"}`, `{"in_reply_to":"b1.x.1"}`, `{"in_reply_to":"b1.-1.1"}`,
		`{"in_reply_to":"` + before.ID(0, time.Now()) + `"}`,
	} {
		v.Take(reply, time.Now())
	}
	if got := v.Side(1, 0, 0).Faults; got != (bench.Faults{Lost: 1}) {
		t.Errorf("got %+v, want one lost", got)
	}
}

func TestTakeAllocatesLittle(t *testing.T) {
	v := bench.NewVerifier("b1", 1)
	reply := `{"in_reply_to":"` + v.ID(0, time.Now()) + `"}`
	now := time.Now()
	if n := testing.AllocsPerRun(100, func() { v.Take(reply, now) }); n > 2 {
		t.Errorf("got %v allocations, want 2 at most", n)
	}
}
