package discord

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"agenthost/plugins"
)

// rates knows which calls Discord would refuse for now, from the headers of the last
// ones. Too many refused calls get the address of the host banned. The zero rates
// knows of none.
type rates struct {
	mu    sync.Mutex
	until map[string]time.Time
}

var errSpent = errors.New("discord: this bucket is empty")

// wait is an error while calls of this kind would be refused.
func (r *rates) wait(method, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := time.Until(r.until[bucket(method, path)]); left > 0 {
		return &plugins.RateLimitError{After: left, Err: errSpent}
	}
	return nil
}

// note remembers what an answer says of the next call.
func (r *rates) note(method, path string, h http.Header) {
	after, err := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64)
	if h.Get("X-RateLimit-Remaining") != "0" || err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for name, until := range r.until {
		if until.Before(now) {
			delete(r.until, name)
		}
	}
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	r.until[bucket(method, path)] = now.Add(time.Duration(after * float64(time.Second)))
}

// bucket is what a limit is for: a method on the messages of a channel, whichever
// they are.
func bucket(method, path string) string {
	parts := strings.Split(path, "/") // "", channels, id, messages, id
	return method + " " + strings.Join(parts[:min(len(parts), 4)], "/")
}
