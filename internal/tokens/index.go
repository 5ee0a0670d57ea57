package tokens

import (
	"context"
	"slices"
	"strings"
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
	configured []string // names of tokens of the configuration

	mu     sync.RWMutex
	whole  bool // all that there was has been read
	byHash map[string]Token
	hashes map[string]string // by name
	logouts
}

// NewIndex makes an Index, which refuses all until it runs. It warns of tokens with the name
// of one of the configuration: those admit no request.
func NewIndex(configured ...string) *Index {
	return &Index{configured: configured, byHash: map[string]Token{}, hashes: map[string]string{}, logouts: logouts{ends: map[string]time.Time{}}}
}

// Run follows the bucket until ctx ends.
func (x *Index) Run(ctx context.Context, js jetstream.JetStream, log zerolog.Logger) error {
	x.mu.Lock()
	x.js = js
	x.mu.Unlock()
	take := func(e jetstream.KeyValueEntry) {
		_, ok := read(e)
		if !ok && e.Operation() == jetstream.KeyValuePut && !strings.HasPrefix(e.Key(), logoutPrefix) {
			log.Warn().Str("token", e.Key()).Str("bucket", bus.TokensBucket).
				Msg("read token: the entry was not written by a host and admits no request; revoke it with agenthost tokens revoke, and make another")
		}
		if x.take(e) && slices.Contains(x.configured, e.Key()) {
			log.Warn().Str("token", e.Key()).Msg("http.tokens has the name of a token that was made by command, which is refused: revoke it with agenthost tokens revoke, and make one of another name")
		}
	}
	whole := func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.whole = true
	}
	records.Mirror(ctx, js, bus.TokensBucket, log, take, whole)
	return nil
}

// take takes an entry, and reports whether it is a token that was not known.
func (x *Index) take(e jetstream.KeyValueEntry) (added bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if login, ok := strings.CutPrefix(e.Key(), logoutPrefix); ok {
		x.takeLogout(login, e)
		return false
	}
	known := x.hashes[e.Key()]
	delete(x.byHash, x.hashes[e.Key()])
	delete(x.hashes, e.Key())
	if e.Operation() != jetstream.KeyValuePut {
		return false
	}
	t, ok := read(e)
	if !ok {
		return false
	}
	x.byHash[t.Hash], x.hashes[t.Name] = t, t.Hash
	return t.Hash != known
}

// Find is the token that was sent, if it is good at that time. What is looked up is its
// hash, so that the time of the lookup says nothing about the token. The error is httpauth.ErrStarting where
// the Index has not read all tokens yet.
func (x *Index) Find(sent string, now time.Time) (httpauth.Token, bool, error) {
	x.mu.RLock()
	t, ok := x.byHash[hash(sent)]
	whole := x.whole
	x.mu.RUnlock()
	switch {
	case !ok && !whole:
		return httpauth.Token{}, false, httpauth.ErrStarting
	case !ok || !t.Expires.IsZero() && !now.Before(t.Expires):
		return httpauth.Token{}, false, nil
	}
	return httpauth.Token{Name: t.Name, Role: t.Role, Agents: t.Agents}, true, nil
}
