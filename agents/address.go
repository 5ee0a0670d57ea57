package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agenthost/agents/internal/clip"
	"agenthost/bus"
	"agenthost/run"
)

// addressAll gives the replies of a commit their addresses.
func (t *runner) addressAll(events []run.Event) error {
	for i := range events {
		if events[i].Reply == nil {
			continue
		}
		if err := t.address(events[i].Reply); err != nil {
			return err
		}
	}
	return nil
}

// address completes a reply to the last input of the run.
func (t *runner) address(reply *run.Reply) error {
	o, err := t.origin()
	if err != nil {
		return err
	}
	reply.ID = t.id + "." + strconv.Itoa(reply.N)
	last := t.inputs[len(t.inputs)-1]
	person := t.person()
	if o.route != nil && (person == nil || !asks(reply.Kind) && reply.Call == "" && !o.proactive()) {
		return t.addressResult(reply, o.route, last.ID)
	}
	out := bus.Outbound{
		ID: reply.ID, Agent: t.c.r.id, Session: string(t.c.key), Run: t.id, Kind: reply.Kind,
		To: person.To, Chat: person.Chat, Thread: person.Thread, InReplyTo: person.ReplyTo,
		Text: reply.Text, Media: sent(reply.Media), Final: reply.Final, Options: reply.Options,
		Error: wireError(reply.Error), SentAt: time.Now().UTC(),
	}
	if reply.Call != "" {
		out.Call = t.c.waitID(t.id, run.Call{ID: reply.Call, Wait: reply.Wait})
	}
	if len(t.inputs) > 1 {
		for _, in := range t.inputs {
			out.Merged = append(out.Merged, in.ID)
		}
	}
	switch reply.Subject = person.Subject; {
	case t.c.r.shadow():
		reply.Subject = "" // it is kept, and goes nowhere
	case o.quiet(reply):
		reply.Subject = ""
		t.c.log().Debug().Str("run", t.id).Msg("the heartbeat has nothing to say")
	case reply.Kind == run.KindReply && t.dropped():
		out.Kind, reply.Kind = run.KindNotice, run.KindNotice
	}
	if reply.Envelope, err = out.AppendJSON(make([]byte, 0, envelopeRoom+len(out.Text))); err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	if len(reply.Envelope) <= t.c.r.parts.room() {
		return nil
	}
	return t.shorten(reply, &out)
}

// envelopeRoom is what an envelope mostly takes besides its text.
const envelopeRoom = 384

// asks reports whether a reply of that kind is for a person even where the run
// works for an agent.
func asks(kind string) bool { return kind == bus.KindApproval || kind == bus.KindQuestion }

// origin is where the last input of the run comes from.
func (t *runner) origin() (origin, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.items); n > 0 && t.items[n-1].input.ID == t.inputs[len(t.inputs)-1].ID {
		return t.items[n-1].origin, nil
	}
	return readOrigin(t.inputs[len(t.inputs)-1])
}

// last is the last input of the run.
func (t *runner) last() run.Input {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inputs[len(t.inputs)-1]
}

// shorten puts the text of a reply that is too large for a message into the
// object store, and what a person needs to see of it into the message.
func (t *runner) shorten(reply *run.Reply, out *bus.Outbound) error {
	ctx, cancel := context.WithTimeout(t.c.r.work, 30*time.Second)
	defer cancel()
	name, err := t.c.r.parts.Files.Put(ctx, []byte(out.Text))
	if err != nil {
		return fmt.Errorf("store long reply: %w", err)
	}
	out.Media = append(out.Media, bus.Media{
		Kind: "file", MIME: "text/plain; charset=utf-8", Name: "reply.txt", Size: int64(len(out.Text)), Object: name,
	})
	out.Text = clip.Head(out.Text, 4096) + "…"
	reply.Envelope, err = json.Marshal(out)
	return err
}

// addressResult makes a reply the result of a delegate. Only the last word of
// the run is one. A route holds no NUL; whoever reads one with it throws it away,
// and its asker waits in vain.
func (t *runner) addressResult(reply *run.Reply, asked *bus.Route, inReplyTo string) error {
	result := bus.Route{
		ID: reply.ID, Kind: bus.RouteResult, From: t.c.r.id, CorrelationID: orElse(asked.CorrelationID, inReplyTo),
		Text: strings.ReplaceAll(reply.Text, "\x00", "\uFFFD"), Media: sent(reply.Media), Chain: asked.Chain, Error: wireError(reply.Error), InReplyTo: inReplyTo,
	}
	if reply.Final && asked.Kind == bus.RouteDelegate {
		reply.Subject = asked.ReplyTo
	}
	var err error
	if reply.Envelope, err = json.Marshal(&result); err == nil && len(reply.Envelope) > t.c.r.parts.room() {
		result.Text = clip.Head(result.Text, t.c.r.parts.room()/8) + "…" // every byte may have become six
		reply.Envelope, err = json.Marshal(&result)
	}
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return nil
}

func wireError(e *run.Error) *bus.Error {
	if e == nil {
		return nil
	}
	return &bus.Error{Code: string(e.Code), Message: e.Message}
}
