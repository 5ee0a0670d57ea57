package bench_test

import (
	"testing"
	"time"

	"agenthost/bench"

	"github.com/google/go-cmp/cmp"
)

// A quantile is what was added, or up to a part in 64 more.
func TestQuantile(t *testing.T) {
	var h bench.Histogram
	for i := range 10_000 {
		h.Add(time.Duration(i+1) * time.Microsecond)
	}
	tests := map[float64]time.Duration{
		0: time.Microsecond, 0.5: 5001 * time.Microsecond, 0.99: 9901 * time.Microsecond, 0.999: 9991 * time.Microsecond,
		1: 10 * time.Millisecond,
	}
	for q, want := range tests {
		if got := h.Quantile(q); got < want || got > want+want/64 {
			t.Errorf("quantile %v: got %s, want %s or little more", q, got, want)
		}
	}
	if h.Max() != 10*time.Millisecond {
		t.Errorf("got up to %s, want up to 10ms", h.Max())
	}
}

func TestQuantileOfExtremes(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 63, 64, 127, 128, time.Hour, 1<<63 - 1} {
		var h bench.Histogram
		h.Add(d)
		if got := h.Quantile(0.5); got != d {
			t.Errorf("of %d alone: got %d", d, got)
		}
	}
	var h bench.Histogram
	h.Add(-time.Second) // a clock was set back
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("got %s, want 0", got)
	}
}

func TestEmptyHistogram(t *testing.T) {
	var h bench.Histogram
	if h.Quantile(0.99) != 0 || len(h.Bars()) != 0 {
		t.Errorf("got %s and %v, want nothing", h.Quantile(0.99), h.Bars())
	}
}

func TestBars(t *testing.T) {
	var h bench.Histogram
	for _, d := range []time.Duration{3, 4, 5, 6, 40} {
		h.Add(d)
	}
	want := []bench.Bar{{To: 4, Count: 1}, {To: 8, Count: 3}, {To: 16}, {To: 32}, {To: 64, Count: 1}}
	if diff := cmp.Diff(want, h.Bars()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	var h bench.Histogram
	if n := testing.AllocsPerRun(100, func() { h.Add(time.Millisecond) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
