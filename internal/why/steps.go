package why

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// tellFact adds what an event of a session tells of the id.
func (s *search) tellFact(ctx context.Context, t *telling, f session.Fact) error {
	e := f.Event
	of := f.Of
	if e.Run != "" {
		of = e.Run
	}
	mine := of != "" && t.runs[of]
	itself := e.Input != nil && s.isOf(e.Input) || e.Type == run.OperatorSaid && s.operatorSaid(e)
	if !mine && !itself {
		return nil
	}
	step := Step{At: e.At, Agent: t.agent, Session: t.key, Run: of, Stream: bus.SessionsStream, Seq: f.Seq}
	if !s.name(&step, e, t.owners) {
		return nil
	}
	for _, in := range append(e.Inputs, inputs(e.Input)...) {
		if err := s.accepted(ctx, t, in); err != nil {
			return err
		}
	}
	s.add(step)
	for _, act := range e.HookActs() {
		s.add(Step{At: act.At, What: Hooked, Agent: t.agent, Session: t.key, Run: of, Stream: bus.SessionsStream, Seq: f.Seq, ID: act.Call, Name: act.Hook, Detail: hookWords(act)})
	}
	if e.Reply != nil {
		return s.published(ctx, t, e, step)
	}
	return nil
}

// operatorSaid reports whether it is what an operator has answered to the message, or has
// said as the reply.
func (s *search) operatorSaid(e run.Event) bool {
	if e.Reply == nil {
		return false
	}
	out := bus.Outbound{}
	return json.Unmarshal(e.Reply.Envelope, &out) == nil && (out.ID == s.id || out.InReplyTo == s.id || slices.Contains(out.Merged, s.id))
}

func inputs(in *run.Input) []run.Input {
	if in == nil {
		return nil
	}
	return []run.Input{*in}
}

// name says what an event is in the words of a step; it is false for one that tells
// nothing here.
func (s *search) name(step *Step, e run.Event, owners owners) bool {
	switch e.Type {
	case run.Started:
		step.What, step.Host, step.Detail = Started, owners.of(e), string(e.Trigger)
		if e.Attempt > 1 {
			step.Detail = strings.TrimSpace(fmt.Sprintf("%s, attempt %d", e.Trigger, e.Attempt))
		}
		if n := len(e.Inputs); n > 1 {
			step.Detail = fmt.Sprintf("%s, with %d messages, the last is %s", e.Trigger, n, e.Inputs[n-1].OwnID())
		}
	case run.InputAdded:
		step.What, step.ID = Queued, e.Input.OwnID()
		if e.Run != "" {
			step.What = Joined
		}
	case run.ModelCalled:
		step.What, step.Name, step.Detail = Called, e.Entry, modelWords(e)
	case run.ToolRequested:
		step.What, step.ID, step.Name = Requested, e.Call, e.Name
	case run.ToolFinished:
		step.What, step.ID, step.Name = Finished, e.Call, e.Name
		if !e.OK {
			step.Detail = "failed"
		}
	case run.ApprovalAsked, run.QuestionAsked:
		step.What, step.ID, step.Detail = Asked, e.Call, clip(e.Prompt)
	case run.ApprovalAnswered, run.QuestionAnswered:
		step.What, step.ID, step.Name, step.Detail = Settled, e.Call, e.By, clip(e.Answer)
		if e.Door != "" {
			step.Detail += " by " + e.Door
		}
	case run.InputTaken:
		if e.Input == nil { // it does not fit
			return false
		}
		step.What, step.ID, step.Name, step.Detail = Settled, e.Input.OwnID(), e.By, "to a tool at work"
	case run.Delegated:
		step.What, step.ID, step.Name = Delegated, e.Call, e.To
	case run.Suspended:
		step.What, step.Detail = Suspended, "for "+strings.Join(e.Waiting, ", ")
	case run.Replied:
		step.What, step.ID, step.Subject = Replied, e.Reply.ID, e.Reply.Subject
		if e.Reply.Kind != run.KindReply {
			step.Detail = e.Reply.Kind
		}
	case run.InputRefused:
		step.What, step.ID = Refused, e.Input.OwnID()
		if e.Error != nil {
			step.Detail = string(e.Error.Code)
		}
	case run.OperatorHeard:
		step.What, step.ID = Heard, e.Input.OwnID()
	case run.OperatorSaid:
		step.What, step.Name = Replied, e.By
		if e.Reply != nil {
			step.ID, step.Subject = e.Reply.ID, e.Reply.Subject
		}
	case run.InputWithdrawn:
		step.What, step.ID = Withdrawn, e.Input.OwnID()
	case run.InputPassedOn:
		step.What, step.ID = PassedOn, e.Input.OwnID()
	case run.Finished:
		step.What, step.Detail = Ended, string(e.Outcome)
		if e.Error != nil {
			step.Detail += ": " + string(e.Error.Code)
		}
	default:
		return false
	}
	return true
}

func modelWords(e run.Event) string {
	switch {
	case e.Skipped != "":
		return "passed over: " + e.Skipped
	case e.Error != nil:
		return "failed: " + strings.TrimSpace(string(e.Error.Code)+" "+clip(e.Reason))
	}
	words := (time.Duration(e.MS) * time.Millisecond).String()
	if e.Model != "" { // of a provider that has several
		words = e.Model + ", " + words
	}
	if e.Usage != nil {
		words += fmt.Sprintf(", %d tokens in, %d out", e.Usage.Input, e.Usage.Output)
	}
	return words
}

func hookWords(act run.HookAct) string {
	words := act.Point + ": " + act.Action
	if len(act.Args) > 0 {
		words += " of " + strings.Join(act.Args, ", ")
	}
	if act.Reason != "" {
		words += ": " + clip(act.Reason)
	}
	if act.Error != "" {
		words += ": " + clip(act.Error)
	}
	return words
}

// most is how much of a text a step shows.
const most = 200

func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// accepted adds where a message was stored first, as long as the stream has it.
func (s *search) accepted(ctx context.Context, t *telling, in run.Input) error {
	if s.way.Kind == Inbound && !s.isOf(&in) {
		return nil
	}
	stream := streamOf(in.Subject)
	step := Step{What: Accepted, Agent: t.agent, Stream: stream, Seq: in.Seq, Subject: in.Subject, ID: in.OwnID()}
	rec, err := s.reader.Get(ctx, stream, in.Seq)
	if errors.Is(err, records.ErrNotFound) {
		return nil
	}
	if err != nil {
		return absent(err)
	}
	step.At = rec.Time
	s.add(step)
	return nil
}

// lookIntoInbound finds the message where no session has it yet.
func (s *search) lookIntoInbound(ctx context.Context) error {
	if len(s.way.Steps) > 0 {
		return nil
	}
	for stream, subject := range map[string]string{bus.InboundStream: bus.InboundPrefix + ">", bus.RoutesStream: bus.RoutePrefix + "*"} {
		for rec, err := range s.reader.Tail(ctx, stream, subject, 1) {
			if err != nil {
				return absent(err)
			}
			id := cmp.Or(idIn(rec.Data), rec.Header.Get(nats.MsgIdHdr), fmt.Sprintf("%s:%d", stream, rec.Seq))
			if id != s.id && rec.Header.Get(nats.MsgIdHdr) == s.id {
				return s.as(ctx, id)
			}
			if id != s.id {
				continue
			}
			s.is(Inbound, Waiting)
			s.add(Step{At: rec.Time, What: Accepted, Stream: stream, Seq: rec.Seq, Subject: rec.Subject, ID: s.id})
			s.turns = append(s.turns, turn{agentIn(rec), rec.Subject, rec.Time})
			if err := s.answeredAside(ctx, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// as adds the way of another id by which the message goes: the one that is asked for is that of
// its publication, or it was sent again under another.
func (s *search) as(ctx context.Context, id string) error {
	if s.ids[id] { // each may name the other
		return nil
	}
	way, err := s.another(id).find(ctx)
	if err != nil {
		return err
	}
	s.is(way.Kind, way.State)
	for _, step := range way.Steps {
		s.add(step)
	}
	return nil
}

// answeredAside finds the answer to a message that is in no session: its sender may
// not write, or not so much.
func (s *search) answeredAside(ctx context.Context, inbound records.Record) error {
	subject := bus.OutboundPrefix + strings.TrimPrefix(inbound.Subject, bus.InboundPrefix)
	var told *bus.Outbound // by which the sender knows that they may not write
	for rec, err := range s.reader.Since(ctx, bus.OutboundStream, subject, inbound.Time.Add(-silence)) {
		if err != nil {
			return absent(err)
		}
		out := bus.Outbound{}
		if json.Unmarshal(rec.Data, &out) != nil {
			continue
		}
		if rec.Time.Before(inbound.Time) && turnedAway(&out, inbound) {
			told = &out
		}
		if out.InReplyTo != s.id || rec.Time.Before(inbound.Time.Add(-time.Second)) {
			continue
		}
		s.way.State = Answered
		step := Step{
			At: rec.Time, What: Published, Agent: out.Agent, Session: out.Session, Stream: bus.OutboundStream, Seq: rec.Seq,
			Subject: rec.Subject, ID: out.ID, Detail: out.Kind,
		}
		if out.Error != nil {
			step.Detail += " " + out.Error.Code
		}
		s.add(step)
		if err := s.delivered(ctx, step); err != nil {
			return err
		}
	}
	if s.way.State == Waiting && strings.HasPrefix(inbound.Subject, bus.InboundPrefix) {
		return s.notTaken(ctx, inbound, told)
	}
	return nil
}

// lookIntoDead finds the dead letters of the message.
func (s *search) lookIntoDead(ctx context.Context) error {
	for rec, err := range s.reader.Tail(ctx, bus.DeadStream, "agent.dead.>", 1) {
		if err != nil {
			return absent(err)
		}
		letter := bus.DeadLetter{}
		if json.Unmarshal(rec.Data, &letter) != nil {
			continue
		}
		if !s.places[place{letter.Stream, letter.Seq}] && letter.ID != s.id && idIn(letter.Data()) != s.id && !s.unpublished[letter.ID] {
			continue
		}
		kind := Inbound
		if letter.Stream == bus.OutboundStream {
			kind, s.refused[place{letter.Stream, letter.Seq}] = Outbound, true
		}
		s.is(kind, Dead)
		if s.way.State == Waiting && letter.Stream != bus.OutboundStream { // it waits no more
			s.way.State = Dead
		}
		s.add(Step{
			At: rec.Time, What: DeadLike, Agent: letter.Agent, Host: letter.Host, Stream: bus.DeadStream, Seq: rec.Seq,
			Subject: letter.Subject, ID: letter.ID, Detail: strings.TrimSpace(letter.Code + " " + clip(letter.Reason)),
		})
	}
	return nil
}

// idIn is the id in an envelope.
func idIn(data []byte) string {
	m := struct {
		ID string `json:"id"`
	}{}
	_ = bus.ReadFields(data, &m) // what is no object has none
	return m.ID
}
