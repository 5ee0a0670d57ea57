package llm

import (
	"net/http"
	"strconv"
	"time"
)

// longestRetryAfter keeps a nonsensical header from becoming a negative or an
// endless wait.
const longestRetryAfter = 24 * time.Hour

// retryAfter reads the three ways providers say how long to wait: milliseconds,
// seconds and a date. It is 0 when they do not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return capped(ms, time.Millisecond)
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return capped(s, time.Second)
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(max(time.Until(at), 0), longestRetryAfter)
	}
	return 0
}

func capped(n float64, unit time.Duration) time.Duration {
	switch {
	case n >= float64(longestRetryAfter/unit):
		return longestRetryAfter
	case n >= 0:
		return RetryDelay(time.Duration(n * float64(unit)))
	}
	return 0 // also NaN
}

// RetryDelay is the RetryAfter of an Error whose provider asked to wait for d: a
// day at most, and 250 ms for 0, which is at once and not the same as no word of
// it. A negative d counts as no word.
func RetryDelay(d time.Duration) time.Duration {
	if d == 0 {
		return firstWait
	}
	return min(max(d, 0), longestRetryAfter)
}
