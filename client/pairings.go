package client

import (
	"context"

	"agenthost/internal/audit"
	"agenthost/internal/pairing"
)

// A Pairing is a stranger who has asked an agent for a pairing, or a person whose
// pairing was approved.
type Pairing = pairing.Pairing

// ErrNoCode is returned for the code of a pairing that is wrong, used or too old.
var ErrNoCode = pairing.ErrNoCode

// Pairings lists the open codes and the people that were approved, the oldest first.
func (c *Client) Pairings(ctx context.Context) ([]Pairing, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := pairing.NewStore(c.js).List(ctx)
	return list, hintBucket(err)
}

// ApprovePairing lets the person with a code write to the agent, on behalf of by.
func (c *Client) ApprovePairing(ctx context.Context, code, by string) (Pairing, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	p, err := pairing.NewStore(c.js).Approve(ctx, code, by)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "pairings-approve", Agent: p.Agent, Target: p.Person()})
	}
	return p, hintBucket(err)
}

// DenyPairing ends a code. The person may ask again when the hour is over.
func (c *Client) DenyPairing(ctx context.Context, code string) (Pairing, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	p, err := pairing.NewStore(c.js).Deny(ctx, code)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "pairings-deny", Agent: p.Agent, Target: p.Person()})
	}
	return p, hintBucket(err)
}

// RevokePairing takes back the pairing of a person, such as telegram.sales/42, with
// one agent or, if agent is empty, with all.
func (c *Client) RevokePairing(ctx context.Context, agent, person string) ([]Pairing, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := pairing.NewStore(c.js).Revoke(ctx, agent, person)
	if len(list) > 0 {
		c.note(ctx, audit.Entry{Action: "pairings-revoke", Agent: agent, Target: person})
	}
	return list, hintBucket(err)
}
