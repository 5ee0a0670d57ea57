package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agenthost/internal/audit"
	"agenthost/internal/erase"
	"agenthost/internal/erasure"
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
	_, err := erasure.ParsePerson(e.Peer)
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
	person, err := erasure.ParsePerson(what.Peer)
	if err != nil {
		return Erased{}, err
	}
	done, err := erase.Run(ctx, c.js, &eraseFleet{client: c}, erase.Options{Person: person, Agent: what.Agent, DryRun: what.DryRun})
	if !what.DryRun && done.Total() > 0 {
		c.note(ctx, audit.Entry{Action: "erase", Agent: what.Agent, Detail: fmt.Sprintf("%d things of one person", done.Total())})
	}
	return done, err
}

// An eraseFleet is the hosts as an erasure needs them.
type eraseFleet struct {
	client *Client
	hosts  []string
	silent bool // one of them has not answered an order
}

// Runs reports whether a host answers.
func (f *eraseFleet) Runs(ctx context.Context) (bool, error) {
	hosts, err := f.client.patientHosts(ctx, func(Status) bool { return false })
	f.hosts = hosts.Names()
	return len(hosts) > 0, err
}

const (
	// eraseWithin is how long hosts may take to forget a person. One that did not answer is
	// asked again, and waited for less.
	eraseWithin      = 12 * time.Second
	eraseAgainWithin = time.Second
	// eraseKeys is how many keys of sessions one order has, so that it fits into a message.
	eraseKeys = 2000
)

// Erase has all hosts drop what they hold of a person in memory. silent are those that have not
// answered; erased is false when some of it is still at work on another.
func (f *eraseFleet) Erase(ctx context.Context, o erasure.Order) (silent []string, erased bool, err error) {
	missing, erased := map[string]bool{}, true
	keys := o.Keys
	for first := true; first || len(keys) > 0; first = false {
		n := min(len(keys), eraseKeys)
		o.Keys, keys = keys[:n], keys[n:]
		if err := f.order(ctx, o, missing, &erased); err != nil {
			return nil, false, err
		}
	}
	f.silent = len(missing) > 0
	return slices.Sorted(maps.Keys(missing)), erased, nil
}

func (f *eraseFleet) order(ctx context.Context, o erasure.Order, missing map[string]bool, erased *bool) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, host := range f.hosts {
		left[host] = true
	}
	within := eraseWithin
	if f.silent || len(missing) > 0 {
		within = eraseAgainWithin
	}
	err = f.client.order(ctx, erasure.Subject, data, within, func(data []byte) (bool, error) {
		answer := erasure.Answer{}
		if json.Unmarshal(data, &answer) == nil && answer.Host != "" { // an error is no answer
			delete(left, answer.Host)
			*erased = *erased && answer.Erased
		}
		return len(left) == 0, nil
	})
	maps.Copy(missing, left)
	return err
}

// eraseStopWithin is how long a host may take to report that it has stopped a run.
const eraseStopWithin = 2 * time.Second

// Stop orders the end of a run. That it has ended by itself is no error.
func (f *eraseFleet) Stop(ctx context.Context, agent string, key session.Key) error {
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
func (f *eraseFleet) Dropped(ctx context.Context, d session.Deletion) error {
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
