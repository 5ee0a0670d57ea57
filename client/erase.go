package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agenthost/internal/audit"
	"agenthost/internal/erase"
	"agenthost/session"
)

// DropSessionSubject is where hosts hear that a session was changed or deleted, which they
// have to forget.
const DropSessionSubject = "agenthost.sessions.drop"

// An Erasure says whom to erase.
type Erasure struct {
	Peer   string // [<channel>[.<instance>]/]<from>; without a channel on all of them
	Agent  string // empty: all
	DryRun bool   // only look
}

// Check refuses what names no person.
func (e Erasure) Check() error {
	_, err := erase.ParsePerson(e.Peer)
	return err
}

// Erased is what was erased.
type Erased = erase.Report

// ErrNotErased means that something of the person came, or was at work, while they were
// erased. It can be done again.
var ErrNotErased = erase.ErrBusy

// ErasedKinds are the kinds of what is erased, in the order in which they are shown.
func ErasedKinds() []string { return erase.Kinds() }

// Erase deletes all that the fleet keeps of a person, and takes their words out of the
// sessions of groups. It needs no host. Cut off at any time, the next call goes on. What
// was erased before an error is in the Erased all the same.
func (c *Client) Erase(ctx context.Context, what Erasure) (Erased, error) {
	person, err := erase.ParsePerson(what.Peer)
	if err != nil {
		return Erased{}, err
	}
	done, err := erase.Run(ctx, c.js, eraseFleet{c}, erase.Options{Person: person, Agent: what.Agent, DryRun: what.DryRun})
	if !what.DryRun && done.Total() > 0 {
		c.note(ctx, audit.Entry{Action: "erase", Agent: what.Agent, Detail: fmt.Sprintf("%d things of one person", done.Total())})
	}
	return done, err
}

// An eraseFleet is the hosts as an erasure needs them.
type eraseFleet struct{ client *Client }

// Runs reports whether a host answers.
func (f eraseFleet) Runs(ctx context.Context) (bool, error) {
	hosts, err := f.client.Hosts(ctx)
	return len(hosts) > 0, err
}

// eraseStopWithin is how long a host may take to report that it has stopped a run.
const eraseStopWithin = 2 * time.Second

// Stop orders the end of a run. That it has ended by itself is no error.
func (f eraseFleet) Stop(ctx context.Context, agent string, key session.Key) error {
	_, err := f.client.Abort(ctx, Stop{Agent: agent, Session: string(key), By: f.client.by}, eraseStopWithin)
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return nil
	}
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		return erase.ErrUnserved
	}
	return err
}

// Dropped has all hosts forget a session.
func (f eraseFleet) Dropped(ctx context.Context, d session.Deletion) error {
	data, err := json.Marshal(d)
	if err == nil {
		err = f.client.nc.Publish(DropSessionSubject, data)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	return f.client.nc.FlushWithContext(ctx)
}
