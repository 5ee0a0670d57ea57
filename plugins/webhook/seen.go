package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"agenthost/plugins"
)

const (
	// rememberFor is how long an id belongs to its body: as long as AGENT_INBOUND has the
	// message, unless the operator has it kept longer.
	rememberFor = 3 * 24 * time.Hour
	// seenFor is how long an id is known without a look at the notes, at least.
	seenFor = 15 * time.Minute
	// mostSeen are how many are.
	mostSeen = 50_000
)

var errOtherBody = errors.New("another request had this id and another body")

// A body is what an id belongs to.
type body struct {
	digest string
	since  time.Time
}

// seen are the ids that came lately, each with its body. Those of
// other hosts, and of the time before a restart, are in the notes of the account.
type seen struct {
	mu  sync.Mutex
	now map[string]body
	old map[string]body // those of the time before
	at  time.Time       // since when they are collected in now
}

func newSeen() *seen {
	return &seen{now: map[string]body{}, old: map[string]body{}, at: time.Now()}
}

// get is the body that an id has.
func (s *seen) get(id string) (b body, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, known = s.now[id]; known {
		return b, true
	}
	b, known = s.old[id]
	return b, known
}

// add remembers the body that the notes have of an id.
func (s *seen) add(id string, b body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > seenFor || len(s.now) >= mostSeen {
		s.old, s.now, s.at = s.now, map[string]body{}, time.Now()
	}
	s.now[id] = b
}

// sameBody is errOtherBody for an id that came with another body before, else since when
// it comes with this one. What it has not seen it has the notes remember: of bodies that
// come at once, on one host or several, they take one.
func (c *Channel) sameBody(ctx context.Context, in *plugins.Inbox, id string, text []byte) (since time.Time, err error) {
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:16])
	has, known := c.seen.get(id)
	if !known {
		note, since, err := in.KeepNoteFor(ctx, "id "+id, []byte(digest), rememberFor)
		if err != nil {
			return time.Time{}, err
		}
		has = body{string(note), since}
		c.seen.add(id, has)
	}
	if has.digest != digest {
		return time.Time{}, errOtherBody
	}
	return has.since, nil
}
