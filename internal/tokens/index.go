package tokens

import (
	"context"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/httpauth"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An Index is the tokens as a host knows them. It is safe for concurrent use.
type Index struct {
	mu     sync.RWMutex
	byHash map[string]Token
	hashes map[string]string // by name
}

// NewIndex makes an Index, which refuses all until it runs.
func NewIndex() *Index { return &Index{byHash: map[string]Token{}, hashes: map[string]string{}} }

// Run follows the bucket until ctx ends.
func (x *Index) Run(ctx context.Context, js jetstream.JetStream, log zerolog.Logger) error {
	records.Follow(ctx, js, bus.TokensBucket, log, x.take, nil)
	return nil
}

func (x *Index) take(e jetstream.KeyValueEntry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byHash, x.hashes[e.Key()])
	delete(x.hashes, e.Key())
	if e.Operation() != jetstream.KeyValuePut {
		return
	}
	if t, ok := read(e); ok {
		x.byHash[t.Hash], x.hashes[t.Name] = t, t.Hash
	}
}

// Find is the token that was sent, if it is good at that time. What is looked up is its
// hash, so that the time that takes tells nothing of the token.
func (x *Index) Find(sent string, now time.Time) (httpauth.Token, bool) {
	x.mu.RLock()
	t, ok := x.byHash[hash(sent)]
	x.mu.RUnlock()
	if !ok || !t.Expires.IsZero() && !now.Before(t.Expires) {
		return httpauth.Token{}, false
	}
	return httpauth.Token{Name: t.Name, Role: t.Role, Agents: t.Agents}, true
}
