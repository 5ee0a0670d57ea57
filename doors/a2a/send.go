package a2a

import (
	"cmp"
	"context"
	"iter"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/doors"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

// A sending is a task that is followed.
type sending struct {
	*doors.Exchange
	*handler
	record   *record
	answered string         // the call that the message answers
	why      *proto.Message // it was no answer
	artifact written
}

// send sends a message: it begins a task, or answers what one waits for.
func (h *handler) send(ctx context.Context, req *proto.SendMessageRequest) (*sending, error) {
	m := req.Message
	switch {
	case m == nil:
		return nil, invalid("message is missing")
	case m.ID == "":
		return nil, invalid("messageId is missing")
	case m.Role != proto.MessageRoleUser:
		return nil, invalid("role is %q; want ROLE_USER", m.Role)
	case req.Config != nil && req.Config.PushConfig != nil:
		return nil, proto.ErrPushNotificationNotSupported
	}
	if req.Config != nil {
		if err := checkHistory(req.Config.HistoryLength); err != nil {
			return nil, err
		}
	}
	text, media, err := h.read(ctx, m)
	if err != nil {
		return nil, h.refusal("keep the files", err)
	}
	if m.TaskID != "" {
		return h.answer(ctx, m, text)
	}
	return h.begin(ctx, m, text, media)
}

// refusal is an error that may be the client's own.
func (h *handler) refusal(what string, err error) error {
	if isClients(err) {
		return err
	}
	return h.trouble(what, err)
}

// begin begins a task.
func (h *handler) begin(ctx context.Context, m *proto.Message, text string, media []bus.Media) (*sending, error) {
	conversation := cmp.Or(m.ContextID, newContext(m.ID))
	if n := len(conversation); n > bus.LongestID {
		return nil, invalid("contextId has %d bytes; want at most %d", n, bus.LongestID)
	}
	r := begun(conversation, m.ID, text, media)
	r.is(proto.TaskStateSubmitted, time.Now().UTC())
	place := h.place(conversation)
	e, err := h.parts.Desk.Send(ctx, doors.Request{
		Agent: place.Agent, Instance: place.Instance, Conversation: conversation, ID: m.ID, Text: text, Media: media,
	})
	if err != nil {
		return nil, h.trouble("store the message", err)
	}
	s := &sending{Exchange: e, handler: h, record: r}
	if e.Repeated {
		if s.record, err = h.repeated(ctx, r); err != nil {
			e.Close()
			return nil, err
		}
	}
	h.sent.put(h.key(r.ID), s.record)
	return s, nil
}

// repeated is the task of a message that came before.
func (h *handler) repeated(ctx context.Context, r *record) (*record, error) {
	before, err := h.task(ctx, r.ID)
	if err != nil {
		return r, nil //nolint:nilerr // it is on its way to the log
	}
	if before.text != r.text {
		return nil, invalid("messageId %q was used for another message of this context; use a new one", r.message)
	}
	return before, nil
}

// answer answers what a task waits for.
func (h *handler) answer(ctx context.Context, m *proto.Message, text string) (*sending, error) {
	r, err := h.task(ctx, m.TaskID)
	switch {
	case err != nil:
		return nil, err
	case m.ContextID != "" && m.ContextID != r.ContextID:
		return nil, invalid("contextId is %q; the task is of %q", m.ContextID, r.ContextID)
	case r.wasToldBy(m.ID): // it comes again
	case r.Status.State.Terminal():
		return nil, proto.NewError(proto.ErrUnsupportedOperation, "the task has ended: "+string(r.Status.State)+"; send a message without taskId")
	case len(r.open) == 0:
		return nil, proto.NewError(proto.ErrUnsupportedOperation, "the task asks for nothing now; send a message without taskId")
	}
	e, err := h.parts.Desk.Join(ctx, h.place(r.ContextID), r.message)
	if err != nil {
		return nil, h.trouble("follow the task", err)
	}
	s := &sending{Exchange: e, handler: h, record: r}
	if r.wasToldBy(m.ID) {
		return s, nil
	}
	s.answered = r.open[0].call
	if err := e.AnswerAs(ctx, m.ID, s.answered, text); err != nil {
		e.Close()
		return nil, h.trouble("store the answer", err)
	}
	return s, nil
}

// wasToldBy reports whether a message of that id is part of the task.
func (r *record) wasToldBy(id string) bool {
	for _, m := range r.History {
		if m.ID == id && m.Role == proto.MessageRoleUser {
			return true
		}
	}
	return false
}

// now is the task as the log has it.
func (s *sending) now(ctx context.Context) (*proto.Task, error) {
	r, err := s.task(ctx, s.record.ID)
	if err != nil {
		return nil, err
	}
	return &r.Task, nil
}

// stream yields the task and then what comes of it.
func (s *sending) stream(ctx context.Context, yield func(proto.Event, error) bool) {
	if !yield(s.inlineTask(ctx, &s.record.Task), nil) || s.record.Status.State.Terminal() {
		return
	}
	for ev, err := range s.events(ctx) {
		if !yield(ev, err) || err != nil {
			return
		}
	}
}

// events yields what comes of a task, until it has ended or needs an answer.
func (s *sending) events(ctx context.Context) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		working := s.record.Status.State == proto.TaskStateWorking
		for ev, err := range s.Events(ctx) {
			if err != nil {
				yield(nil, s.trouble("follow the task", err))
				return
			}
			if !working && (ev.Chunk != nil || ev.Out == nil && ev.Refused == nil) {
				working = true
				if !yield(s.status(proto.TaskStateWorking, nil), nil) {
					return
				}
			}
			list, done, err := s.translate(ctx, ev)
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
			if done || err != nil {
				return
			}
		}
	}
}

// translate is what an event of the exchange is in the protocol.
func (s *sending) translate(ctx context.Context, ev doors.Event) (list []proto.Event, done bool, err error) {
	switch {
	case ev.Chunk != nil:
		return s.chunk(*ev.Chunk), false, nil
	case ev.Refused != nil:
		return s.refused(ctx, ev.Refused)
	case ev.Out == nil, ev.Out.Call != "" && ev.Out.Call == s.answered:
		return nil, false, nil
	case ev.Out.Final:
		return s.end(ctx, ev.Out), true, nil
	case ev.Out.Kind == bus.KindApproval || ev.Out.Kind == bus.KindQuestion:
		return []proto.Event{s.status(proto.TaskStateInputRequired, agentMessage(s.record.TaskInfo(), *ev.Out))}, true, nil
	}
	m := agentMessage(s.record.TaskInfo(), *ev.Out)
	m.Parts = s.inline(ctx, m.Parts)
	return []proto.Event{s.status(proto.TaskStateWorking, m)}, false, nil
}

func (s *sending) chunk(c client.Chunk) []proto.Event {
	if c.Text == "" {
		return nil
	}
	return []proto.Event{s.artifact.add(s.record.TaskInfo(), c)}
}

// refused says that an answer was none. What it was for may not wait any more.
func (s *sending) refused(ctx context.Context, out *bus.Outbound) (list []proto.Event, done bool, err error) {
	t, err := s.now(ctx)
	if err != nil || t.Status.State != proto.TaskStateInputRequired {
		return nil, false, err
	}
	s.why = agentMessage(t.TaskInfo(), *out)
	return []proto.Event{s.status(proto.TaskStateInputRequired, s.why)}, true, nil
}

// end is what ends a task. What went no further than the door is in no log.
func (s *sending) end(ctx context.Context, out *bus.Outbound) (list []proto.Event) {
	r := *s.record
	if logged, err := s.task(ctx, r.ID); err == nil && logged.Status.State.Terminal() {
		r = *logged
	} else {
		r.finish(*out, out.SentAt)
		s.sent.put(s.key(r.ID), &r)
	}
	for _, a := range r.Artifacts {
		last := s.artifact.end(r.TaskInfo(), out.Text, a)
		last.Artifact.Parts = s.inline(ctx, last.Artifact.Parts)
		list = append(list, last)
	}
	return append(list, &proto.TaskStatusUpdateEvent{TaskID: r.ID, ContextID: r.ContextID, Status: r.Status})
}

func (s *sending) status(state proto.TaskState, m *proto.Message) *proto.TaskStatusUpdateEvent {
	now := time.Now().UTC()
	return &proto.TaskStatusUpdateEvent{
		TaskID: s.record.ID, ContextID: s.record.ContextID,
		Status: proto.TaskStatus{State: state, Message: m, Timestamp: &now},
	}
}
