package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/llm"
	"agenthost/run"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

// A record is a task, as the log of its session has it.
type record struct {
	proto.Task
	message string       // the id of the message that began it
	text    string       // of that message
	reply   bus.Outbound // the final one, if any
	open    []pending    // what waits for an answer, the oldest first
}

// pending is an approval or a question that waits.
type pending struct {
	call   string // the id to answer under
	prompt *proto.Message
}

// A story are the tasks of a session.
type story struct {
	context string
	tasks   []*record
	byID    map[string]*record // by the id of the message
	byRun   map[string][]*record
	waits   map[string]string // the random part of the id of what waits, by its call
}

// tasks reads the tasks of a context. An unknown context has no tasks.
func (h *handler) tasks(ctx context.Context, conversation string) (*story, error) {
	s := &story{context: conversation, byID: map[string]*record{}, byRun: map[string][]*record{}, waits: map[string]string{}}
	key := h.parts.Desk.Key(h.place(conversation))
	sid, err := client.SessionID(h.agent.ID, key)
	if err != nil {
		return nil, err
	}
	for f, err := range h.parts.Desk.Client().Sessions().History(ctx, h.agent.ID, sid, 1) {
		if errors.Is(err, client.ErrNoSession) {
			break
		}
		if err != nil {
			return nil, err
		}
		s.take(f)
	}
	for _, r := range s.tasks {
		r.settle()
	}
	return s, nil
}

func (s *story) take(f client.Fact) {
	e := f.Event
	switch e.Type {
	case run.Started:
		for _, in := range e.Inputs {
			s.begin(f.Of, in, e.At)
		}
	case run.InputAdded:
		if e.Input != nil {
			s.begin(e.Run, *e.Input, e.At)
		}
	case run.InputRefused:
		s.refuse(e)
	case run.Replied:
		s.say(f.Of, e)
	case run.ApprovalAsked, run.QuestionAsked:
		s.waits[f.Of+"/"+e.Call] = e.Wait
	case run.ApprovalAnswered, run.QuestionAnswered:
		s.answered(f.Of, e)
	case run.Finished:
		for _, r := range s.byRun[f.Of] {
			r.end(e)
		}
	}
}

// begin adds a task, or notes that a run has taken its message.
func (s *story) begin(runID string, in run.Input, at time.Time) *record {
	r := s.byID[in.OwnID()]
	if r == nil {
		msg, err := bus.ReadInbound(in.Envelope)
		if err != nil || msg.Answers != "" || msg.Text == stopOrder {
			return nil
		}
		r = begun(s.context, in.OwnID(), msg.Text, msg.Media)
		r.is(proto.TaskStateSubmitted, at)
		s.byID[in.OwnID()] = r
		s.tasks = append(s.tasks, r)
	}
	if runID != "" && !slices.Contains(s.byRun[runID], r) {
		s.byRun[runID] = append(s.byRun[runID], r)
		r.is(proto.TaskStateWorking, at)
	}
	return r
}

// begun is a task that a message begins.
func begun(conversation, message, text string, media []bus.Media) *record {
	r := &record{message: message, text: text}
	r.ID, r.ContextID = taskID(conversation, message), conversation
	r.History = []*proto.Message{{
		ID: message, ContextID: conversation, TaskID: r.ID, Role: proto.MessageRoleUser, Parts: partsOf(text, media),
	}}
	return r
}

// stopOrder is what ends a run; it begins none.
const stopOrder = "/stop"

func (s *story) refuse(e run.Event) {
	if e.Input == nil {
		return
	}
	r := s.begin("", *e.Input, e.At)
	if r == nil {
		return
	}
	r.is(proto.TaskStateRejected, e.At)
	if out, ok := outbound(e.Reply); ok {
		r.reply, r.Status.Message = out, r.agentMessage(out)
	}
}

func outbound(r *run.Reply) (out bus.Outbound, ok bool) {
	return out, r != nil && json.Unmarshal(r.Envelope, &out) == nil
}

// say adds what an agent says to the tasks of its run.
func (s *story) say(runID string, e run.Event) {
	out, ok := outbound(e.Reply)
	if !ok {
		return
	}
	for _, r := range s.byRun[runID] {
		switch {
		case out.Final && (out.InReplyTo == r.message || slices.Contains(out.Merged, r.message)):
			r.finish(out, e.At)
		case out.Final:
		case out.Kind == bus.KindApproval || out.Kind == bus.KindQuestion:
			m := r.agentMessage(out)
			r.History = append(r.History, m)
			r.open = append(r.open, pending{out.Call, m})
			r.Status.Timestamp = &e.At
		default:
			r.History = append(r.History, r.agentMessage(out))
		}
	}
}

func (s *story) answered(runID string, e run.Event) {
	wait := s.waits[runID+"/"+e.Call]
	for _, r := range s.byRun[runID] {
		r.open = slices.DeleteFunc(r.open, func(p pending) bool { return p.call[strings.LastIndexByte(p.call, '.')+1:] == wait })
		r.Status.Timestamp = &e.At
		if e.Input != nil {
			r.History = append(r.History, &proto.Message{
				ID: e.Input.OwnID(), ContextID: r.ContextID, TaskID: r.ID, Role: proto.MessageRoleUser, Parts: partsOf(e.Answer, nil),
			})
		}
	}
}

func (r *record) is(state proto.TaskState, at time.Time) {
	r.Status.State, r.Status.Timestamp = state, &at
}

// finish notes the final reply.
func (r *record) finish(out bus.Outbound, at time.Time) {
	r.reply, r.open = out, nil
	if out.Kind != bus.KindError {
		r.Artifacts = []*proto.Artifact{{ID: replyID, Name: replyName, Parts: partsOf(out.Text, out.Media)}}
		r.is(proto.TaskStateCompleted, at)
		return
	}
	r.Status.Message = r.agentMessage(out)
	r.is(stateOf(out.Error), at)
}

// stateOf is that of a task that ended with an error.
func stateOf(err *bus.Error) proto.TaskState {
	if err != nil && err.Code == string(llm.CodeCancelled) {
		return proto.TaskStateCanceled
	}
	return proto.TaskStateFailed
}

// end notes that the run has ended: what it has asked waits no more.
func (r *record) end(e run.Event) {
	r.open = nil
	if r.Status.State.Terminal() {
		return
	}
	switch e.Outcome {
	case run.OutcomeStopped:
		r.is(proto.TaskStateCanceled, e.At)
	case run.OutcomeFailed:
		r.is(proto.TaskStateFailed, e.At)
	default:
		r.is(proto.TaskStateCompleted, e.At)
	}
}

// settle says what the task waits for.
func (r *record) settle() {
	if len(r.open) > 0 && !r.Status.State.Terminal() {
		r.Status.State, r.Status.Message = proto.TaskStateInputRequired, r.open[0].prompt
	}
}

// agentMessage is what an agent says.
func (r *record) agentMessage(out bus.Outbound) *proto.Message {
	return agentMessage(r.TaskInfo(), out)
}

func agentMessage(at proto.TaskInfo, out bus.Outbound) *proto.Message {
	text := out.Text
	if len(out.Options) > 0 {
		text += "\n- " + strings.Join(out.Options, "\n- ")
	}
	return &proto.Message{ID: out.ID, ContextID: at.ContextID, TaskID: at.TaskID, Role: proto.MessageRoleAgent, Parts: partsOf(text, out.Media)}
}
