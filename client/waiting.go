package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/tools"

	"github.com/nats-io/nats.go/jetstream"
)

// Waiting is a call that waits for a person or for another agent.
type Waiting = agents.Waiting

// The kinds of a Waiting: what it waits for.
const (
	ForApproval = "approval"
	ForQuestion = "question"
	ForDelegate = "delegate"
)

// ErrNotWaiting is the error of an id that no call waits under.
var ErrNotWaiting = agents.ErrNotWaiting

// Waiting lists what waits, of all agents, the oldest first.
func (c *Client) Waiting(ctx context.Context) ([]Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := allWaiting(ctx, c.js)
	return list, hintBucket(err)
}

func allWaiting(ctx context.Context, js jetstream.JetStream) ([]Waiting, error) {
	list, err := agents.AllWaiting(ctx, js)
	slices.SortFunc(list, func(a, b Waiting) int {
		return cmp.Or(a.AskedAt.Compare(b.AskedAt), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// FindWaiting reads what waits under an id, which may be shortened.
func (c *Client) FindWaiting(ctx context.Context, id string) (Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	w, err := c.findWaiting(ctx, id)
	return w, hintBucket(err)
}

func (c *Client) findWaiting(ctx context.Context, id string) (Waiting, error) {
	w, err := agents.ReadWaiting(ctx, c.js, id)
	if err == nil || !errors.Is(err, ErrNotWaiting) {
		return w, err
	}
	list, failed := allWaiting(ctx, c.js)
	if failed != nil {
		return w, failed
	}
	whole, failed := Resolve("id", id, AnswerableIDs(list))
	switch {
	case failed != nil:
		return w, failed
	case whole == "":
		return w, err
	}
	return agents.ReadWaiting(ctx, c.js, whole)
}

// AnswerableIDs are the ids of those that a person answers.
func AnswerableIDs(list []Waiting) (ids []string) {
	for _, w := range list {
		if w.Kind != ForDelegate {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// WholeCall is the call that waits with all its arguments, for people: a prompt
// has room for the beginning only. Without arguments it is the prompt.
func (c *Client) WholeCall(ctx context.Context, w Waiting) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	state, _, err := c.Sessions().state(ctx, w.Agent, w.Session)
	if err != nil {
		return "", err
	}
	if w.Kind == ForApproval && state.Run != nil && state.Run.ID == w.Run {
		for _, call := range state.Run.Calls {
			if call.ID == w.Call && len(call.Args) > 0 {
				return tools.Whole(call.Name, call.Args), nil
			}
		}
	}
	return w.Prompt, nil
}
