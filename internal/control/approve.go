package control

import (
	"context"
	"errors"
	"fmt"

	"agenthost/agents"
	"agenthost/client"

	"github.com/nats-io/nats.go"
)

// The subjects by which programs answer what waits and stop runs. The operations
// only put a message into its stream: the host that serves the agent, perhaps
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
	msg, err := a.Message(w, "")
	if err != nil {
		return coded(client.CodeBad, "%w", err)
	}
	return h.store(ctx, msg)
}

func (h Host) abort(ctx context.Context, s client.Stop) error {
	if !h.Serves(s.Agent) {
		return coded(client.CodeNotFound, "there is no agent %q", s.Agent)
	}
	s.By, s.Door = callerOf(ctx).by(s.By), callerOf(ctx).door()
	msg, err := s.Message("")
	if err != nil {
		return coded(client.CodeBad, "%w", err)
	}
	return h.store(ctx, msg)
}

// store signs a message and returns once NATS has stored it.
func (h Host) store(ctx context.Context, msg *nats.Msg) error {
	h.Signer.Sign(msg)
	if _, err := h.JS.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("publish on %s: %w", msg.Subject, err)
	}
	return nil
}
