package web

import (
	"sync"
	"time"
)

// What one person, and all together, may use.
const (
	mostStreams    = 8    // of events, of a person
	mostStreamsAll = 2000 // of a host
	mostUploads    = 4    // files on their way at once, of a host: they are in memory
	postBurst      = 20   // messages of a person at once
	postEvery      = time.Second
	mostPeople     = 50_000 // whose messages are counted

	mostText  = 100_000 // bytes
	mostFiles = 10      // of a message
	mostBody  = mostText*6 + 16<<10
)

// limits count what people use.
type limits struct {
	mu      sync.Mutex
	streams map[string]int
	all     int
	posts   map[string]*bucket
	uploads chan struct{}
}

// A bucket holds what a person may still post now.
type bucket struct {
	left float64
	at   time.Time
}

func newLimits() *limits {
	return &limits{streams: map[string]int{}, posts: map[string]*bucket{}, uploads: make(chan struct{}, mostUploads)}
}

// stream takes a stream of a person; done gives it back. Nil: there are too many.
func (l *limits) stream(person string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams[person] >= mostStreams || l.all >= mostStreamsAll {
		return nil
	}
	l.streams[person]++
	l.all++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		if l.streams[person]--; l.streams[person] == 0 {
			delete(l.streams, person)
		}
	}
}

// post reports whether a person may post now.
func (l *limits) post(person string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.posts[person]
	if b == nil {
		l.forget(now)
		b = &bucket{left: postBurst, at: now}
		l.posts[person] = b
	}
	b.left = min(postBurst, b.left+float64(now.Sub(b.at))/float64(postEvery))
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// forget drops the buckets that are full again, when there are many.
func (l *limits) forget(now time.Time) {
	if len(l.posts) < mostPeople {
		return
	}
	for person, b := range l.posts {
		if now.Sub(b.at) > postBurst*postEvery {
			delete(l.posts, person)
		}
	}
}
