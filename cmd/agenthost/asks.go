package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"agenthost/bus"
	"agenthost/internal/control"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// receiveAsk reads what the person is asked. It has all that an answer needs:
// the bucket of what waits may not have it yet.
func (d *dialog) receiveAsk(data []byte, l listener) {
	out := bus.Outbound{}
	if err := json.Unmarshal(data, &out); err != nil || out.Call == "" {
		return
	}
	switch out.Kind {
	case bus.KindApproval, bus.KindQuestion:
		d.tellAsk(control.Waiting{ID: out.Call, Agent: out.Agent, Kind: out.Kind, Prompt: out.Text, Options: out.Options}, l)
	}
}

// tellAsk tells of an ask once, however often it comes: who takes over from a
// host that died asks again.
func (d *dialog) tellAsk(w control.Waiting, l listener) {
	if d.asked[w.ID] || l.asked == nil {
		return
	}
	if d.asked == nil {
		d.asked = map[string]bool{}
	}
	d.asked[w.ID] = true
	l.asked(w)
}

// missed tells of what was asked while NATS was away.
func (d *dialog) missed(ctx context.Context, l listener) error {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	list, err := control.AllWaiting(ctx, d.js)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	for _, w := range list {
		if w.Kind != control.ForDelegate && w.Origin != nil && w.Origin.Subject == d.asks {
			d.tellAsk(w, l)
		}
	}
	return err
}

// reply answers an ask with a line of text. It returns the id of its message,
// which the word of the host names.
func (d *dialog) reply(ctx context.Context, w control.Waiting, text, by string) (string, error) {
	a := control.Answer{ID: w.ID, Text: text, By: by, Door: bus.DoorCLI}
	if w.Kind == control.ForApproval {
		answer, scope, _ := strings.Cut(text, " ")
		a.Text, a.Scope = answer, strings.ToLower(strings.TrimSpace(scope))
	}
	msg, err := a.Message(w, d.inbox)
	if err != nil {
		return "", err
	}
	return d.order(ctx, msg)
}

// stop orders the agent to stop what it does in this dialog.
func (d *dialog) stop(ctx context.Context, by string) (string, error) {
	msg, err := control.Stop{Agent: d.agent, Session: control.RouteKey(d.from, d.session), By: by, Door: bus.DoorCLI}.Message(d.inbox)
	if err != nil {
		return "", err
	}
	return d.order(ctx, msg)
}

func (d *dialog) order(ctx context.Context, msg *nats.Msg) (string, error) {
	_, err := (&order{js: d.js}).store(ctx, msg)
	return msg.Header.Get(nats.MsgIdHdr), err
}

// choices are what an ask can be answered with, for a command line; empty when
// it can be anything.
func choices(w control.Waiting) string {
	if w.Kind == control.ForApproval {
		return control.Approve + "|" + control.Deny
	}
	return strings.Join(w.Options, "|")
}

// waitingFor tells who is not at a chat how an ask is answered.
func waitingFor(w control.Waiting) string {
	what, answer := "an approval", choices(w)
	if w.Kind == control.ForQuestion {
		what = "an answer"
	}
	if answer == "" {
		answer = "TEXT"
	}
	return "waiting for " + what + ": agenthost approvals answer " + w.ID + " " + printable(answer) + "  (" + onOneLine(w.Prompt) + ")"
}
