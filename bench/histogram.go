package bench

import (
	"math/bits"
	"time"
)

// A Histogram counts durations in buckets that are at most 1/64 wide of what
// they hold, so that an hour costs no more memory than a minute. The zero value
// is empty and ready to use; it is for one goroutine.
type Histogram struct {
	counts [buckets]uint64
	n      uint64
	max    time.Duration
}

const (
	fine    = 6 // bits of a duration that a bucket keeps
	buckets = (64 - fine) << fine
)

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(d)]++
	h.n++
	h.max = max(h.max, d)
}

// bucket is where d is counted: what is below 1<<fine by itself, the rest by
// its magnitude and the fine bits behind its first one.
func bucket(d time.Duration) int {
	v := uint64(d)
	shift := bits.Len64(v) - fine - 1
	if shift <= 0 {
		return int(v)
	}
	return shift<<fine + int(v>>shift)
}

// upper is the greatest duration that bucket i holds.
func upper(i int) time.Duration {
	shift := i>>fine - 1
	if shift <= 0 {
		return time.Duration(i)
	}
	return time.Duration((uint64(i-shift<<fine)+1)<<shift - 1)
}

// Max is the longest that was added.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile is what a part q of all was not longer than; 0 when there is none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.n))
	seen := uint64(0)
	for i, n := range h.counts {
		if seen += n; n > 0 && seen > rank {
			return min(upper(i), h.max)
		}
	}
	return h.max
}

// A Bar is one line of a picture: how many took up to To, and longer than the
// bar before.
type Bar struct {
	To    time.Duration
	Count int
}

// Bars draw h in steps of a factor of two, from the shortest to the longest.
func (h *Histogram) Bars() []Bar {
	var bars []Bar
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		to := time.Duration(1) << bits.Len64(uint64(upper(i)))
		for len(bars) > 0 && bars[len(bars)-1].To < to/2 {
			bars = append(bars, Bar{To: bars[len(bars)-1].To * 2})
		}
		if len(bars) == 0 || bars[len(bars)-1].To < to {
			bars = append(bars, Bar{To: to})
		}
		bars[len(bars)-1].Count += int(n)
	}
	return bars
}
