package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agenthost/agents"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

// The subjects by which programs answer what waits and stop runs.
const (
	ApproveSubject = "agenthost.approve"
	AbortSubject   = "agenthost.abort"
)

// doors are the endpoints that change something. They only put a message into
// its stream: the host that serves the agent, perhaps another one, acts on it.
type doors struct {
	js     jetstream.JetStream
	signer *signing.Signer
	served func(agent string) bool
}

// doorWithin bounds what a door takes: requests wait for each other.
const doorWithin = 5 * time.Second

// A doorError is why a door stays shut, with a code as HTTP has them.
type doorError struct {
	code string
	error
}

func shut(code, format string, args ...any) error {
	return doorError{code, fmt.Errorf(format, args...)}
}

// door makes an endpoint of a function that returns once NATS has stored what
// was asked for.
func door(open func(context.Context, []byte) error) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		ctx, cancel := context.WithTimeout(context.Background(), doorWithin)
		defer cancel()
		err := open(ctx, req.Data())
		if err == nil {
			_ = req.RespondJSON(map[string]bool{"ok": true}) // who asked may be gone
			return
		}
		code := "503"
		if why, ok := errors.AsType[doorError](err); ok {
			code = why.code
		}
		_ = req.Error(code, err.Error(), nil) // the same
	})
}

func (d *doors) approve(ctx context.Context, data []byte) error {
	a := Answer{By: ServiceName}
	if err := json.Unmarshal(data, &a); err != nil {
		return shut("400", "request: %w", err)
	}
	w, err := ReadWaiting(ctx, d.js, a.ID)
	if errors.Is(err, agents.ErrNotWaiting) {
		return shut("404", "%w", err)
	}
	if err != nil {
		return err
	}
	msg, err := a.Message(w, "")
	if err != nil {
		return shut("400", "%w", err)
	}
	return d.store(ctx, msg)
}

func (d *doors) abort(ctx context.Context, data []byte) error {
	s := Stop{By: ServiceName}
	if err := json.Unmarshal(data, &s); err != nil {
		return shut("400", "request: %w", err)
	}
	if !d.served(s.Agent) {
		return shut("404", "there is no agent %q", s.Agent)
	}
	msg, err := s.Message("")
	if err != nil {
		return shut("400", "%w", err)
	}
	return d.store(ctx, msg)
}

func (d *doors) store(ctx context.Context, msg *nats.Msg) error {
	d.signer.Sign(msg)
	if _, err := d.js.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("publish on %s: %w", msg.Subject, err)
	}
	return nil
}
