package a2a

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"agenthost/bus"
	"agenthost/doors"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

const cancelWithin = 30 * time.Second

// A handler answers the requests of one visit for one agent.
type handler struct {
	*door
	visit doors.Visit
	agent doors.Agent
}

// task finds a task, by the log or among those that are on their way to it.
func (h *handler) task(ctx context.Context, id proto.TaskID) (*record, error) {
	conversation := contextOf(id)
	if conversation == "" {
		return nil, noTask(id)
	}
	s, err := h.tasks(ctx, conversation)
	if err != nil {
		return nil, h.trouble("read the tasks", err)
	}
	for _, r := range s.tasks {
		if r.ID == id {
			return r, nil
		}
	}
	return h.onItsWay(ctx, id)
}

// key names a task among those of all agents and tokens.
func (h *handler) key(id proto.TaskID) string {
	return h.agent.ID + "/" + h.visit.Instance + "/" + string(id)
}

func noTask(id proto.TaskID) error {
	return proto.NewError(proto.ErrTaskNotFound, fmt.Sprintf("there is no task %q of this agent, for this token", id))
}

// trouble is what a client gets to know of an error of the host.
func (h *handler) trouble(what string, err error) error {
	switch {
	case errors.Is(err, bus.ErrMalformed):
		return invalid("%v", err)
	case errors.Is(err, context.Canceled):
		return err
	}
	h.parts.Log.Warn().Err(err).Str("agent", h.agent.ID).Str("door", bus.DoorA2A).Msg(what + ": failed")
	return proto.NewError(proto.ErrInternalError, what+": NATS is away or busy; try again")
}

// GetTask tells how far a task is.
func (h *handler) GetTask(ctx context.Context, req *proto.GetTaskRequest) (*proto.Task, error) {
	if err := checkHistory(req.HistoryLength); err != nil {
		return nil, err
	}
	r, err := h.current(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return h.inlineTask(ctx, limited(&r.Task, req.HistoryLength)), nil
}

func checkHistory(n *int) error {
	if n != nil && *n < 0 {
		return invalid("historyLength is %d; want 0 or more", *n)
	}
	return nil
}

// CancelTask ends the run of a task.
func (h *handler) CancelTask(ctx context.Context, req *proto.CancelTaskRequest) (*proto.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, cancelWithin)
	defer cancel()
	r, err := h.cancelable(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	e, err := h.parts.Desk.Join(ctx, h.place(r.ContextID), r.message)
	if err != nil {
		return nil, h.trouble("follow the task", err)
	}
	defer e.Close()
	if err := e.Stop(ctx); err != nil {
		return nil, h.trouble("stop the task", err)
	}
	if _, err := e.Final(ctx); err != nil {
		return nil, h.trouble("wait for the end of the task", err)
	}
	return h.GetTask(ctx, &proto.GetTaskRequest{ID: req.ID})
}

// cancelable is a task that a run is at.
func (h *handler) cancelable(ctx context.Context, id proto.TaskID) (*record, error) {
	r, err := h.task(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Status.State.Terminal() {
		return nil, proto.NewError(proto.ErrTaskNotCancelable, "the task has ended: "+string(r.Status.State))
	}
	if r.Status.State == proto.TaskStateSubmitted {
		waits, err := h.waits(ctx, r)
		if err != nil {
			return nil, err
		}
		if waits {
			return nil, proto.NewError(proto.ErrTaskNotCancelable, "the task waits for an earlier one of its context; cancel that one, or try again once it has ended")
		}
	}
	return r, nil
}

// SendMessage sends a message, and waits until its task has ended or needs an answer.
func (h *handler) SendMessage(ctx context.Context, req *proto.SendMessageRequest) (proto.SendMessageResult, error) {
	s, err := h.send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if cfg := req.Config; cfg == nil || !cfg.ReturnImmediately {
		for _, err := range s.events(ctx) {
			if err != nil {
				return nil, err
			}
		}
	}
	t, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	if s.why != nil && t.Status.State == proto.TaskStateInputRequired {
		waits := *t
		waits.Status.Message = s.why // the question is in the history
		t = &waits
	}
	var history *int
	if req.Config != nil {
		history = req.Config.HistoryLength
	}
	return h.inlineTask(ctx, limited(t, history)), nil
}

// SendStreamingMessage sends a message, and streams the updates of its task until its task has
// ended or needs an answer.
func (h *handler) SendStreamingMessage(ctx context.Context, req *proto.SendMessageRequest) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		s, err := h.send(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		s.stream(ctx, yield)
	}
}

// SubscribeToTask streams the updates of a task from now on.
func (h *handler) SubscribeToTask(ctx context.Context, req *proto.SubscribeToTaskRequest) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		r, err := h.current(ctx, req.ID)
		if err == nil && r.Status.State.Terminal() {
			err = proto.NewError(proto.ErrUnsupportedOperation, "the task has ended: "+string(r.Status.State)+"; ask for it with GetTask")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		e, err := h.parts.Desk.Join(ctx, h.place(r.ContextID), r.message)
		if err != nil {
			yield(nil, h.trouble("follow the task", err))
			return
		}
		s := &sending{Exchange: e, handler: h, record: r}
		defer s.Close()
		s.stream(ctx, yield)
	}
}

// The host has no push notifications: a task is found again by its id.
func (h *handler) GetTaskPushConfig(context.Context, *proto.GetTaskPushConfigRequest) (*proto.PushConfig, error) {
	return nil, proto.ErrPushNotificationNotSupported
}

func (h *handler) ListTaskPushConfigs(context.Context, *proto.ListTaskPushConfigRequest) (*proto.ListTaskPushConfigResponse, error) {
	return nil, proto.ErrPushNotificationNotSupported
}

func (h *handler) CreateTaskPushConfig(context.Context, *proto.PushConfig) (*proto.PushConfig, error) {
	return nil, proto.ErrPushNotificationNotSupported
}

func (h *handler) DeleteTaskPushConfig(context.Context, *proto.DeleteTaskPushConfigRequest) error {
	return proto.ErrPushNotificationNotSupported
}

func (h *handler) GetExtendedAgentCard(context.Context, *proto.GetExtendedAgentCardRequest) (*proto.AgentCard, error) {
	return nil, proto.ErrExtendedCardNotConfigured
}
