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
	if n == 0 { // at once, which is not the same as no word of it
		return firstWait
	}
	if n > 0 && n < float64(longestRetryAfter/unit) {
		return time.Duration(n * float64(unit))
	}
	if n > 0 {
		return longestRetryAfter
	}
	return 0 // also NaN
}
