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

// add notes the digest of an id unless it has one, and returns the one that it has.
func (s *seen) add(id, digest string) (has string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > rememberFor || len(s.now) >= mostSeen {
		s.old, s.now, s.at = s.now, map[string]string{}, time.Now()
	}
	for _, table := range []map[string]string{s.now, s.old} {
		if has, known = table[id]; known {
			return has, true
		}
	}
	s.now[id] = digest
	return digest, false
}

// forget takes back what add has noted.
func (s *seen) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, id)
	delete(s.old, id)
}

// sameBody is errOtherBody for an id that came with another body before. What it
// has not seen it has the notes remember.
func (c *Channel) sameBody(ctx context.Context, in *plugins.Inbox, id string, body []byte) error {
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:16])
	has, known := c.seen.add(id, digest)
	if !known {
		var err error
		if has, err = noted(ctx, in, id, digest); err != nil {
			c.seen.forget(id) // it is noted when it comes again
			return err
		}
	}
	if has != digest {
		return errOtherBody
	}
	return nil
}

// noted is the digest that the notes have of an id. They get this one where they have none.
func noted(ctx context.Context, in *plugins.Inbox, id, digest string) (string, error) {
	has, err := in.Note(ctx, "id "+id)
	if err != nil || has != nil {
		return string(has), err
	}
	return digest, in.SetNoteFor(ctx, "id "+id, []byte(digest), rememberFor)
}
