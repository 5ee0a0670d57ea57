package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/internal/httpauth"

	"github.com/nats-io/nats.go/jetstream"
)

// logoutPrefix begins the keys of logins that were ended. The name of a token has no dot.
const logoutPrefix = "logout."

// logouts are the logins that were ended before their time. Guarded by the Index.
type logouts struct {
	js   jetstream.JetStream // nil until the Index runs
	ends map[string]time.Time
}

// A logout is what the bucket keeps of one.
type logout struct {
	Until time.Time `json:"until"` // when the login would have ended by itself
}

func (l *logouts) takeLogout(login string, e jetstream.KeyValueEntry) {
	var out logout
	if e.Operation() == jetstream.KeyValuePut && json.Unmarshal(e.Value(), &out) == nil {
		l.ends[login] = out.Until
	} else {
		delete(l.ends, login)
	}
}

// LoggedOut reports whether a login was ended. The error is httpauth.ErrStarting until the Index has
// read which were.
func (x *Index) LoggedOut(login string) (bool, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !x.whole {
		return false, httpauth.ErrStarting
	}
	_, ok := x.ends[login]
	return ok, nil
}

// LogOut ends a login on all hosts. What the bucket has of it stays until the login would have
// ended by itself, and is removed by a later logout.
func (x *Index) LogOut(ctx context.Context, login string, until time.Time) error {
	x.mu.RLock()
	js := x.js
	x.mu.RUnlock()
	if js == nil {
		return httpauth.ErrStarting
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	kv, err := js.KeyValue(ctx, bus.TokensBucket)
	if err != nil {
		return fmt.Errorf("end a login: %w", err)
	}
	data, err := json.Marshal(logout{until.UTC()})
	if err == nil {
		_, err = kv.Put(ctx, logoutPrefix+login, data)
	}
	if err != nil {
		return fmt.Errorf("end a login: %w", err)
	}
	x.mu.Lock()
	x.ends[login] = until
	over := x.over(time.Now())
	x.mu.Unlock()
	for _, login := range over {
		if err := kv.Purge(ctx, logoutPrefix+login); err != nil {
			return nil // a later logout tries again
		}
	}
	return nil
}

// over are logins that would have ended by themselves by now: no cookie of theirs counts.
func (l *logouts) over(now time.Time) (list []string) {
	for login, until := range l.ends {
		if !now.Before(until) {
			list = append(list, login)
		}
	}
	return list
}
