package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/doors"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	pageSize     = 50
	mostPerPage  = 100
	mostSessions = 1000 // are looked through for a list of tasks
	cancelWithin = 30 * time.Second
)

// unescape makes a context of the end of a session's key.
var unescape = strings.NewReplacer("%25", "%", "%2F", "/")

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

// ListTasks lists tasks, those that changed last first.
func (h *handler) ListTasks(ctx context.Context, req *proto.ListTasksRequest) (*proto.ListTasksResponse, error) {
	size, start, err := page(req)
	if err != nil {
		return nil, err
	}
	contexts := []string{req.ContextID}
	if req.ContextID == "" {
		if contexts, err = h.contexts(ctx); err != nil {
			return nil, h.trouble("list the sessions", err)
		}
	}
	var list []*proto.Task
	for _, conversation := range contexts {
		s, err := h.tasks(ctx, conversation)
		if err != nil {
			return nil, h.trouble("read the tasks", err)
		}
		for _, r := range s.tasks {
			if wanted(req, &r.Task) {
				list = append(list, &r.Task)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *proto.Task) int {
		return cmp.Or(b.Status.Timestamp.Compare(*a.Status.Timestamp), strings.Compare(string(a.ID), string(b.ID)))
	})
	out := &proto.ListTasksResponse{Tasks: []*proto.Task{}, TotalSize: len(list), PageSize: size}
	for _, t := range list[min(start, len(list)):min(start+size, len(list))] {
		short := limited(t, req.HistoryLength)
		if !req.IncludeArtifacts {
			short.Artifacts = nil
		}
		out.Tasks = append(out.Tasks, h.inlineTask(ctx, short))
	}
	if start+size < len(list) {
		out.NextPageToken = strconv.Itoa(start + size)
	}
	return out, nil
}

// page is how many tasks are asked for, and behind how many.
func page(req *proto.ListTasksRequest) (size, start int, err error) {
	if err := checkHistory(req.HistoryLength); err != nil {
		return 0, 0, err
	}
	size = cmp.Or(req.PageSize, pageSize)
	if size < 1 || size > mostPerPage {
		return 0, 0, invalid("pageSize is %d; want 1 to %d", size, mostPerPage)
	}
	if req.PageToken != "" {
		if start, err = strconv.Atoi(req.PageToken); err != nil || start < 0 || start > 1<<30 {
			return 0, 0, invalid("pageToken %q is none of a list of this host", req.PageToken)
		}
	}
	return size, start, nil
}

func wanted(req *proto.ListTasksRequest, t *proto.Task) bool {
	return (req.Status == "" || req.Status == t.Status.State) &&
		(req.StatusTimestampAfter == nil || t.Status.Timestamp.After(*req.StatusTimestampAfter))
}

// contexts are those of the visitor with the agent, the last ones.
func (h *handler) contexts(ctx context.Context) (list []string, err error) {
	prefix := strings.TrimSuffix(h.parts.Desk.Key(h.place("x")), "x")
	p := client.SessionPage{Agent: h.agent.ID, Limit: mostSessions}
	found, err := h.parts.Desk.Client().Sessions().List(ctx, p)
	for _, s := range found.Sessions {
		if rest, ok := strings.CutPrefix(string(s.Key), prefix); ok {
			list = append(list, unescape.Replace(rest))
		}
	}
	return list, err
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
