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
	// rememberFor is how long an id belongs to its body. A request that is older is
	// stale.
	rememberFor = 15 * time.Minute
	// mostSeen ids are known without a look at the notes, at least.
	mostSeen = 50_000
)

var errOtherBody = errors.New("another request had this id and another body")

// seen are the ids that came lately, each with the digest of its body. Those of
// other hosts, and of the time before a restart, are in the notes of the account.
type seen struct {
	mu  sync.Mutex
	now map[string]string
	old map[string]string // those of the time before
	at  time.Time         // since when they are collected in now
}

func newSeen() *seen {
	return &seen{now: map[string]string{}, old: map[string]string{}, at: time.Now()}
}

// get is the digest that an id has.
func (s *seen) get(id string) (digest string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if digest, known = s.now[id]; known {
		return digest, true
	}
	digest, known = s.old[id]
	return digest, known
}

// add remembers the digest that the notes have of an id.
func (s *seen) add(id, digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > rememberFor || len(s.now) >= mostSeen {
		s.old, s.now, s.at = s.now, map[string]string{}, time.Now()
	}
	s.now[id] = digest
}

// sameBody is errOtherBody for an id that came with another body before. What it
// has not seen it has the notes remember: of bodies that come at once, on one host or
// several, they take one.
func (c *Channel) sameBody(ctx context.Context, in *plugins.Inbox, id string, body []byte) error {
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:16])
	has, known := c.seen.get(id)
	if !known {
		note, err := in.KeepNoteFor(ctx, "id "+id, []byte(digest), rememberFor)
		if err != nil {
			return err
		}
		has = string(note)
		c.seen.add(id, has)
	}
	if has != digest {
		return errOtherBody
	}
	return nil
}
