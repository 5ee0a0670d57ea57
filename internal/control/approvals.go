package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/client"

	"github.com/nats-io/nats.go"
)

// A WaitingListing is what waits for a person, and with All for another agent.
type WaitingListing struct {
	Waiting []client.Waiting `json:"waiting"`
}

type waitingRequest struct {
	byAgent
	All bool `json:"all,omitempty" doc:"also what waits for another agent"`
}

func (h Host) waiting(ctx context.Context, asked waitingRequest) (WaitingListing, error) {
	all, err := h.client().Waiting(ctx)
	list := WaitingListing{Waiting: []client.Waiting{}}
	for _, w := range seen(ctx, all, func(w client.Waiting) string { return w.Agent }) {
		if asked.keeps(w.Agent) && (asked.All || w.Kind != client.ForDelegate) {
			list.Waiting = append(list.Waiting, w)
		}
	}
	return list, err
}

// A WaitingID names what waits.
type WaitingID struct {
	ID string `json:"id" doc:"the id, which may be shortened"`
}

// A WholeWaiting is what waits, with the call as it would run.
type WholeWaiting struct {
	client.Waiting
	Whole string `json:"whole"`
}

func (h Host) showWaiting(ctx context.Context, asked WaitingID) (WholeWaiting, error) {
	w, err := h.findWaiting(ctx, asked.ID)
	if err != nil {
		return WholeWaiting{}, err
	}
	whole, err := h.client().WholeCall(ctx, w)
	return WholeWaiting{w, whole}, err
}

// findWaiting is what waits under an id, if the caller may see it.
func (h Host) findWaiting(ctx context.Context, id string) (client.Waiting, error) {
	if callerOf(ctx).limited() {
		return h.findSeen(ctx, id)
	}
	w, err := h.client().FindWaiting(ctx, id)
	if errors.Is(err, agents.ErrNotWaiting) {
		err = coded(client.CodeNotFound, "%w", err)
	}
	return w, err
}

// findSeen is findWaiting for a caller who may see some agents only. An id that is not unique
// is refused with those that it begins, so it is looked for among theirs alone.
func (h Host) findSeen(ctx context.Context, id string) (client.Waiting, error) {
	list, err := h.waiting(ctx, waitingRequest{All: true})
	if err != nil {
		return client.Waiting{}, err
	}
	short, err := client.Resolve("id", id, client.AnswerableIDs(list.Waiting))
	if err != nil {
		return client.Waiting{}, err
	}
	whole := cmp.Or(short, id)
	i := slices.IndexFunc(list.Waiting, func(w client.Waiting) bool { return w.ID == whole })
	if i < 0 {
		return client.Waiting{}, coded(client.CodeNotFound, "%q: %w", id, agents.ErrNotWaiting)
	}
	return list.Waiting[i], nil
}

// An Ordered is what became of an answer or of the order to stop.
type Ordered struct {
	ID      string `json:"id,omitempty"` // what was answered
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// State is done, or stored: no host has taken it in time, and the next one will.
	State string `json:"state"`
}

func ordered(agent string, o client.Outcome) Ordered {
	state := "done"
	if o.Stored != "" {
		state = "stored"
	}
	return Ordered{o.Waiting.ID, agent, o.Session, state}
}

// answer is approve that waits for what becomes of it.
func (h Host) answer(ctx context.Context, a client.Answer) (Ordered, error) {
	w, err := h.findWaiting(ctx, a.ID)
	if err != nil {
		return Ordered{}, err
	}
	a.ID = w.ID
	a.By, a.Door = callerOf(ctx).by(a.By), callerOf(ctx).door()
	if _, err := a.Message(w, ""); err != nil {
		return Ordered{}, coded(client.CodeBad, "%w", err)
	}
	done, err := h.client().Answer(ctx, a, 0)
	return ordered(w.Agent, done), wrong(refused(err))
}

// refused is err with the code of an order that came too late.
func refused(err error) error {
	if why, ok := errors.AsType[*client.RefusedError](err); ok {
		return coded(client.CodeBusy, "%s", cmp.Or(why.Error(), "it is answered already, or its run has ended"))
	}
	return err
}

// An AllowedListing is the standing approvals.
type AllowedListing struct {
	Allowed []client.Allowed `json:"allowed"`
}

func (h Host) allowed(ctx context.Context, asked byAgent) (AllowedListing, error) {
	all, err := h.client().Allowed(ctx)
	list := AllowedListing{Allowed: []client.Allowed{}}
	for _, a := range seen(ctx, all, func(a client.Allowed) string { return a.Agent }) {
		if asked.keeps(a.Agent) {
			list.Allowed = append(list.Allowed, a)
		}
	}
	return list, err
}

// An AllowedID names a standing approval.
type AllowedID struct {
	ID string `json:"id" doc:"its id, as the list has it"`
}

func (h Host) revokeAllowed(ctx context.Context, asked AllowedID) (client.Allowed, error) {
	list, err := h.allowed(ctx, byAgent{})
	if err != nil {
		return client.Allowed{}, err
	}
	for _, a := range list.Allowed {
		if a.ID == asked.ID {
			return h.client().Revoke(ctx, a.ID)
		}
	}
	return client.Allowed{}, coded(client.CodeNotFound, "revoke %q: nothing is allowed under this id", asked.ID)
}

// The subjects by which programs answer what waits and stop runs. The operations
// put a message into its stream: the host that serves the agent, perhaps
// another one, acts on it.
const (
	ApproveSubject = "agenthost.approve"
	AbortSubject   = "agenthost.abort"
)

func (h Host) approve(ctx context.Context, a client.Answer) error {
	w, err := agents.ReadWaiting(ctx, h.JS, a.ID)
	if errors.Is(err, agents.ErrNotWaiting) {
		return coded(client.CodeNotFound, "%w", err)
	}
	if err != nil {
		return err
	}
	a.By, a.Door = callerOf(ctx).by(a.By), callerOf(ctx).door()
	if _, err := a.Message(w, ""); err != nil {
		return coded(client.CodeBad, "%w", err)
	}
	_, err = h.client().Answer(ctx, a, approveWithin)
	return refused(err)
}

// approveWithin is how long approve waits for a host to refuse the answer: programs give a
// request some seconds. What is stored is taken later.
const approveWithin = 2 * time.Second

// store signs a message and returns once NATS has stored it.
func (h Host) store(ctx context.Context, msg *nats.Msg) error {
	h.Signer.Sign(msg)
	if _, err := h.JS.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("publish on %s: %w", msg.Subject, err)
	}
	return nil
}
