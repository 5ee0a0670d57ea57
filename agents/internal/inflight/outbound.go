package inflight

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/clip"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/run"
)

// AddressAll gives the replies of a commit their addresses.
func (t *Run) AddressAll(events []run.Event) error {
	orders := t.stoppedBy(events)
	for i := range events {
		if events[i].Reply == nil {
			continue
		}
		if err := t.address(events[i].Reply, orders); err != nil {
			return err
		}
	}
	return nil
}

// stoppedBy are the messages that ordered the end which is in a commit. The log has them by
// that commit, so the last reply of the run may be the answer to them as well.
func (t *Run) stoppedBy(events []run.Event) (ids []string) {
	for _, e := range events {
		if e.Type != run.Finished || e.Input == nil {
			continue
		}
		isOrder := func(it *message.Item) bool { return it.Input.ID == e.Input.ID && it.Stops() }
		if slices.ContainsFunc(t.Items, isOrder) {
			ids = append(ids, e.Input.OwnID())
		}
		ids = append(ids, t.Forced...)
	}
	return ids
}

// Address completes a reply to the last input of the run.
func (t *Run) Address(reply *run.Reply) error { return t.address(reply, nil) }

// address is Address of a reply that answers orders as well, if it is the last.
func (t *Run) address(reply *run.Reply, orders []string) error {
	o, err := t.Origin()
	if err != nil {
		return err
	}
	reply.ID = t.ID + "." + strconv.Itoa(reply.N)
	last := t.Inputs[len(t.Inputs)-1]
	person := t.Person()
	if o.Route != nil && (person == nil || !message.Asks(reply.Kind) && reply.Call == "" && !o.Proactive()) {
		return t.addressResult(reply, o.Route, last.ID)
	}
	out := bus.Outbound{
		ID: reply.ID, Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID, Kind: reply.Kind,
		To: person.To, Chat: person.Chat, Thread: person.Thread, InReplyTo: person.ReplyTo,
		Text: reply.Text, Media: message.Sent(reply.Media), Cut: reply.Cut, Final: reply.Final, Options: reply.Options,
		Error: wireError(reply.Error), SentAt: time.Now().UTC(),
	}
	if reply.Call != "" {
		out.Call = ask.ID(t.Agent.ID, t.Key, t.ID, run.Call{ID: reply.Call, Wait: reply.Wait})
	}
	if len(t.Inputs) > 1 {
		for i := range t.Inputs {
			out.Merged = append(out.Merged, t.Inputs[i].OwnID())
		}
	}
	if reply.Final && len(orders) > 0 {
		if len(out.Merged) == 0 && out.InReplyTo != "" {
			out.Merged = []string{out.InReplyTo}
		}
		for _, id := range orders { // one may have come twice
			if !slices.Contains(out.Merged, id) {
				out.Merged = append(out.Merged, id)
			}
		}
	}
	switch reply.Subject = person.Subject; {
	case t.Agent.Now().Shadow():
		reply.Subject = "" // it is kept, and goes nowhere
	case o.Quiet(reply):
		reply.Subject = ""
		t.Log().Debug().Str("run", t.ID).Msg("the heartbeat has nothing to say")
	case reply.Kind == run.KindReply && t.Dropped():
		out.Kind, reply.Kind = run.KindNotice, run.KindNotice
	}
	if reply.Envelope, err = out.AppendJSON(make([]byte, 0, envelopeRoom+len(out.Text))); err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	if len(reply.Envelope) <= t.Room() {
		return nil
	}
	return t.shorten(reply, &out)
}

// AddressTo completes what an operator says: it goes to an address, and answers all
// that is open there.
func (t *Run) AddressTo(reply *run.Reply, at run.Address, open []string) (err error) {
	reply.ID, reply.Subject = t.ID+"."+strconv.Itoa(reply.N), at.Subject
	out := bus.Outbound{
		ID: reply.ID, Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID, Kind: reply.Kind,
		To: at.To, Chat: at.Chat, Thread: at.Thread, InReplyTo: at.ReplyTo, Text: reply.Text, Final: reply.Final, SentAt: time.Now().UTC(),
	}
	if len(open) > 1 {
		out.Merged = open
	}
	if reply.Envelope, err = out.AppendJSON(make([]byte, 0, envelopeRoom+len(out.Text))); err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	if len(reply.Envelope) <= t.Room() {
		return nil
	}
	return t.shorten(reply, &out)
}

// envelopeRoom is what an envelope mostly takes besides its text.
const envelopeRoom = 384

// shorten puts the text of a reply that is too large for a message into the
// object store, and what a person needs to see of it into the message.
func (t *Run) shorten(reply *run.Reply, out *bus.Outbound) error {
	whole, err := t.storeText(out.Text)
	if err != nil {
		return err
	}
	out.Media = append(out.Media, whole)
	out.Text = clip.Head(out.Text, 4096) + "…"
	reply.Envelope, err = json.Marshal(out)
	return err
}

// storeText puts a text into the object store, as an attachment.
func (t *Run) storeText(text string) (bus.Media, error) {
	ctx, cancel := context.WithTimeout(t.Agent.Work, 30*time.Second)
	defer cancel()
	name, err := t.Agent.Parts.Files.Put(ctx, []byte(text))
	if err != nil {
		return bus.Media{}, fmt.Errorf("store long reply: %w", err)
	}
	return bus.Media{Kind: "file", MIME: "text/plain; charset=utf-8", Name: bus.WholeText, Size: int64(len(text)), Object: name}, nil
}

// addressResult makes a reply the result of a delegate. Only the last word of
// the run is one. A route holds no NUL: a reader drops a route that has one, and the agent that
// asked would wait in vain.
func (t *Run) addressResult(reply *run.Reply, asked *bus.Route, inReplyTo string) error {
	result := bus.Route{
		ID: reply.ID, Kind: bus.RouteResult, From: t.Agent.ID, CorrelationID: cmp.Or(asked.CorrelationID, inReplyTo),
		Text: strings.ReplaceAll(reply.Text, "\x00", "\uFFFD"), Media: message.Sent(reply.Media), Chain: asked.Chain, Error: wireError(reply.Error), InReplyTo: inReplyTo,
	}
	if reply.Final && asked.Kind == bus.RouteDelegate {
		reply.Subject = asked.ReplyTo
	}
	var err error
	if reply.Envelope, err = json.Marshal(&result); err == nil && len(reply.Envelope) > t.Room() {
		err = t.shortenResult(reply, &result)
	}
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return nil
}

// shortenResult is shorten for a result. One that goes nowhere has no file: the log has its text.
func (t *Run) shortenResult(reply *run.Reply, result *bus.Route) error {
	if reply.Subject != "" {
		whole, err := t.storeText(result.Text)
		if err != nil {
			return err
		}
		result.Media = append(result.Media, whole)
	}
	result.Text = clip.Head(result.Text, t.Room()/8) + "…" // every byte may have become six
	var err error
	reply.Envelope, err = json.Marshal(result)
	return err
}

func wireError(e *run.Error) *bus.Error {
	if e == nil {
		return nil
	}
	return &bus.Error{Code: string(e.Code), Message: e.Message}
}
