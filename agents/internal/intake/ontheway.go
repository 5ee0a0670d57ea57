package intake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"
)

// What was answered in time counts. A deadline comes by another lane than the answers, and after
// an outage it may come first: so it waits until what was stored before it is handled, by
// whichever host. An answer in the chat of another session is passed on before that.

const (
	passFirst = 50 * time.Millisecond // how soon a deadline that waits looks again, at first
	passMost  = time.Second           // the same, later
	passFor   = 10 * time.Minute      // how long it waits: an older message of the lane may be in progress as long
)

// LetPass has a deadline wait for the answers that were stored before it. It is false when over is
// closed before that, or yields: then the deadline is left to the next owner.
func (i *Intake) LetPass(it *message.Item, over <-chan struct{}, yields func() bool) bool {
	if it.Origin.Route.From != ask.FromDeadline {
		return true
	}
	for began, wait := time.Now(), passFirst; ; wait = min(2*wait, passMost) {
		onTheWay, err := i.answerOnTheWay(it)
		switch {
		case err == nil && !onTheWay:
			return true
		case time.Since(began) > passFor:
			i.log().Warn().Err(err).Str("correlation_id", it.Origin.Route.CorrelationID).
				Msg("a deadline has waited for an answer that came before it, and waits no longer")
			return true
		}
		select {
		case <-over:
		case <-i.Work().Done():
		case <-time.After(wait):
			if it.Delivery.LeaveIfLost() {
				return false
			}
			if !yields() {
				continue
			}
		}
		it.Delivery.Leave()
		return false
	}
}

// answerOnTheWay reports whether a message that was stored before a deadline, and may be an
// answer to what that is for, is not handled yet.
func (i *Intake) answerOnTheWay(it *message.Item) (bool, error) {
	ctx, cancel := context.WithTimeout(i.Work(), 30*time.Second)
	defer cancel()
	w, err := ask.Read(ctx, i.Parts.JS, it.Origin.Route.CorrelationID)
	if errors.Is(err, ask.ErrNotWaiting) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// What people have written first: it may be passed on to the run meanwhile.
	for _, subject := range i.answerSubjects(w) {
		if found, err := i.unhandled(ctx, bus.InboundStream, subject, w); found || err != nil {
			return found, err
		}
	}
	for _, subject := range []string{bus.PartPrefix + ">", bus.RoutePrefix + w.Agent} {
		if found, err := i.unhandled(ctx, bus.RoutesStream, subject, w); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// answerSubjects are those on which people may answer w.
func (i *Intake) answerSubjects(w ask.Waiting) (subjects []string) {
	if w.Kind == run.ForDelegate {
		return nil
	}
	accounts := slices.Clone(w.Approvers)
	if at := w.Origin; at != nil {
		subjects = append(subjects, bus.InboundPrefix+strings.TrimPrefix(at.Subject, bus.OutboundPrefix))
		accounts = append(accounts, i.Parts.Identities.Chats(at.Session)...)
	}
	accounts = append(accounts, i.Parts.Identities.Chats(w.Session)...)
	for _, account := range accounts {
		if channel, _, ok := strings.Cut(account, "/"); ok {
			subjects = append(subjects, bus.InboundPrefix+channel)
		}
	}
	slices.Sort(subjects)
	return slices.Compact(subjects)
}

// unhandled reports whether a message on a subject that may answer w is not acknowledged yet.
func (i *Intake) unhandled(ctx context.Context, stream, subject string, w ask.Waiting) (bool, error) {
	upTo, taken, err := delivery.Handled(ctx, i.Parts.JS, stream, subject)
	if !taken || err != nil {
		return false, err
	}
	for rec, err := range i.Parts.Reader.Tail(ctx, stream, subject, upTo+1) {
		switch {
		case err != nil:
			return false, err
		case stream == bus.InboundStream && !w.InTime(rec.Time):
			return false, nil
		case i.mayAnswer(rec, w):
			return true, nil
		}
	}
	return false, nil
}

// mayAnswer reports whether a stored message was in time for w, and may be its answer. That it is
// in the right place is enough.
func (i *Intake) mayAnswer(rec records.Record, w ask.Waiting) bool {
	subject, stored := rec.Subject, rec.Time
	if was, ok := delivery.ReadHandedOn(rec.Header); ok && strings.HasPrefix(subject, bus.PartPrefix) {
		subject, stored = was.Subject, was.Stored
	}
	it := &message.Item{Origin: message.Origin{Subject: subject}, Stored: stored}
	if _, _, ok := bus.Channel(subject); ok {
		in, err := bus.DecodeInbound(rec.Data)
		it.Origin.Inbound = &in
		return err == nil && w.InTime(stored) && !it.Changes() && i.isPlaceOf(it, w)
	}
	route, err := bus.DecodeRoute(rec.Data)
	it.Origin.Route = &route
	if err != nil || route.Kind != bus.RouteResult || route.CorrelationID != w.ID || route.From == ask.FromDeadline {
		return false
	}
	it.Signed = bus.HostSubject(subject) || i.Parts.Publisher.Signer().Verify(subject, rec.Header, rec.Data)
	return it.Signed && w.InTime(it.Answered())
}

// isPlaceOf reports whether an inbound message comes from where w may be answered.
func (i *Intake) isPlaceOf(it *message.Item, w ask.Waiting) bool {
	in := it.Origin.Inbound
	if in.Answers != "" {
		return in.Answers == w.ID || in.Answers == w.Call
	}
	key := i.Parts.Identities.Session(it.Origin.Key(it.Input.ID))
	at := w.Origin
	return string(key) == w.Session || it.IsFrom(w.Approvers) || at != nil && (it.IsAt(at) || session.Key(at.Session) == key)
}
