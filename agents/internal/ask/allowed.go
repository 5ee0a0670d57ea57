package ask

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// How far an approval goes.
const (
	ScopeOnce    = "once"
	ScopeSession = "session"
	ScopeAlways  = "always"
)

// OverBudget is what a person allows who lets a session, or an agent, go on beyond its
// budget.
const OverBudget = "going beyond the budget"

// An Allowed is something a person has allowed for longer than once, as the
// bucket AGENT_ALLOWED keeps it.
type Allowed struct {
	ID      string    `json:"id"` // its key there
	Agent   string    `json:"agent"`
	Session string    `json:"session,omitempty"` // empty: in all of them
	What    string    `json:"what"`              // a tool, or the commands of a command tool
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

const everySession = "all"

func allowedKey(agent, sid, what string) string {
	sum := sha256.Sum256([]byte(what))
	return agent + "." + sid + "." + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:16])
}

// Allowed reports whether a person has said yes before, for this session or for
// all of them. What cannot be looked up is asked.
func (s *Store) Allowed(ctx context.Context, agent string, key session.Key, what string) bool {
	for _, sid := range []string{session.SID(agent, key), everySession} {
		id := allowedKey(agent, sid, what)
		rec, err := s.Reader.Entry(ctx, bus.AllowedBucket, id)
		a := Allowed{}
		if err == nil && json.Unmarshal(rec.Data, &a) == nil && a.ID == id {
			return true
		}
		if err == nil {
			err = fmt.Errorf("entry %s of bucket %s was not written by a host and allows nothing; revoke it with agenthost approvals revoke", id, bus.AllowedBucket)
		}
		if !errors.Is(err, records.ErrNotFound) {
			s.Log.Warn().Err(err).Str("agent", agent).Msg("look up what is allowed")
		}
	}
	return false
}

// mostAllowed is how much of what is allowed people are shown: a command may be longer than a
// message of NATS. What counts is the key, which is made of the whole.
const mostAllowed = 4 << 10

// Allow keeps a yes. It is kept before the call runs.
func (s *Store) Allow(ctx context.Context, agent string, key session.Key, what, scope, by string) error {
	a := Allowed{Agent: agent, What: what, By: by, At: time.Now().UTC()}
	if len(what) > mostAllowed {
		a.What = strings.ToValidUTF8(what[:mostAllowed], "") + "…"
	}
	switch scope {
	case ScopeSession:
		a.Session, a.ID = string(key), allowedKey(agent, session.SID(agent, key), what)
	case ScopeAlways:
		a.ID = allowedKey(agent, everySession, what)
	default:
		return nil
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	msg := nats.NewMsg("$KV." + bus.AllowedBucket + "." + a.ID)
	msg.Data = data
	if _, err := s.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("keep what is allowed: %w", err)
	}
	return nil
}
