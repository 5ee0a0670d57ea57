package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/audit"

	"github.com/nats-io/nats.go/jetstream"
)

// Allowed is a standing approval: something that a person has allowed for longer
// than once.
type Allowed = agents.Allowed

// Allowed lists the standing approvals of all agents, the oldest first.
func (c *Client) Allowed(ctx context.Context) ([]Allowed, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := allAllowed(ctx, c.js)
	if err != nil {
		return nil, hintBucket(fmt.Errorf("list standing approvals: %w", err))
	}
	slices.SortFunc(list, func(a, b Allowed) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

func allAllowed(ctx context.Context, js jetstream.JetStream) (list []Allowed, err error) {
	for entry, err := range records.Entries(ctx, js, bus.AllowedBucket, ">") {
		if err != nil {
			return nil, err
		}
		list = append(list, readAllowed(entry.Key(), entry.Created(), entry.Value()))
	}
	return list, nil
}

// readAllowed reads an entry. What cannot be read allows all the same, so it is
// listed by its key.
func readAllowed(id string, at time.Time, data []byte) Allowed {
	a := Allowed{}
	if err := json.Unmarshal(data, &a); err != nil {
		a = Allowed{What: "this entry was not written by a host: " + err.Error(), At: at}
	}
	a.ID = id
	return a
}

// Revoke takes back a standing approval: from then on it is asked again. id may be
// shortened. It returns what was allowed.
func (c *Client) Revoke(ctx context.Context, id string) (Allowed, error) {
	known, err := c.Allowed(ctx)
	if err != nil {
		return Allowed{}, fmt.Errorf("revoke %q: %w", id, err)
	}
	ids := make([]string, len(known))
	for i, one := range known {
		ids[i] = one.ID
	}
	whole, err := Resolve("id", id, ids)
	if err != nil {
		return Allowed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	was, err := revoke(ctx, c.js, cmp.Or(whole, id))
	if err == nil {
		c.note(ctx, audit.Entry{Action: "approvals-revoke", Agent: was.Agent, Session: was.Session, Target: was.ID, Detail: was.What})
	}
	return was, err
}

func revoke(ctx context.Context, js jetstream.JetStream, id string) (Allowed, error) {
	kv, err := js.KeyValue(ctx, bus.AllowedBucket)
	if err != nil {
		return Allowed{}, fmt.Errorf("revoke %q: %w", id, err)
	}
	entry, err := records.NewReader(js).Entry(ctx, bus.AllowedBucket, id)
	if errors.Is(err, records.ErrNotFound) {
		return Allowed{}, fmt.Errorf("revoke %q: nothing is allowed under this id", id)
	}
	if err == nil {
		err = kv.Delete(ctx, id, jetstream.LastRevision(entry.Seq))
	}
	if err != nil {
		return Allowed{}, fmt.Errorf("revoke %q: %w", id, err)
	}
	return readAllowed(id, entry.Time, entry.Data), nil
}
