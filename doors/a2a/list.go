package a2a

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"agenthost/client"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	pageSize     = 50
	mostPerPage  = 100
	mostSessions = 1000 // are looked through for a list of tasks
)

// unescape makes a context of the end of a session's key.
var unescape = strings.NewReplacer("%25", "%", "%2F", "/")

// ListTasks lists tasks, those that changed last first.
func (h *handler) ListTasks(ctx context.Context, req *proto.ListTasksRequest) (*proto.ListTasksResponse, error) {
	size, start, err := page(req)
	if err != nil {
		return nil, err
	}
	if err := h.look(ctx); err != nil {
		return nil, h.trouble("read the messages", err)
	}
	contexts := []string{req.ContextID}
	if req.ContextID == "" {
		if contexts, err = h.contexts(ctx); err != nil {
			return nil, h.trouble("list the sessions", err)
		}
	}
	var list []*proto.Task
	fleet := h.atWork()
	for _, conversation := range contexts {
		known, err := h.known(ctx, conversation)
		if err != nil {
			return nil, err
		}
		for i, r := range known {
			if isNext(known[:i], r) {
				r = fleet.asOfNow(ctx, r)
			}
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
	if req.Status != "" && !slices.Contains(states, req.Status) {
		return 0, 0, invalid("status is %.60q; want one of %s", req.Status, joined(states))
	}
	size = cmp.Or(req.PageSize, pageSize)
	if size < 1 || size > mostPerPage {
		return 0, 0, invalid("pageSize is %d; want 1 to %d", size, mostPerPage)
	}
	if req.PageToken != "" {
		if start, err = strconv.Atoi(req.PageToken); err != nil || start < 0 || start > 1<<30 {
			return 0, 0, invalid("pageToken %q does not come from a list of this host", req.PageToken)
		}
	}
	return size, start, nil
}

// states are those that a list may be asked for.
var states = []proto.TaskState{
	proto.TaskStateSubmitted, proto.TaskStateWorking, proto.TaskStateInputRequired, proto.TaskStateCompleted, proto.TaskStateFailed,
	proto.TaskStateCanceled, proto.TaskStateRejected, proto.TaskStateAuthRequired,
}

func joined(states []proto.TaskState) string {
	text := make([]string, len(states))
	for i, s := range states {
		text[i] = string(s)
	}
	return strings.Join(text, ", ")
}

func wanted(req *proto.ListTasksRequest, t *proto.Task) bool {
	return (req.Status == "" || req.Status == t.Status.State) &&
		(req.StatusTimestampAfter == nil || t.Status.Timestamp.After(*req.StatusTimestampAfter))
}

// contexts are those of the visitor with the agent: the last sessions, and the last that have
// tasks on their way to a log.
func (h *handler) contexts(ctx context.Context) (list []string, err error) {
	prefix := strings.TrimSuffix(h.parts.Desk.Key(h.place("x")), "x")
	p := client.SessionPage{Agent: h.agent.ID, Limit: mostSessions}
	found, err := h.parts.Desk.Client().Sessions().List(ctx, p)
	known := map[string]bool{}
	for _, s := range found.Sessions {
		if rest, ok := strings.CutPrefix(string(s.Key), prefix); ok {
			list = append(list, unescape.Replace(rest))
			known[list[len(list)-1]] = true
		}
	}
	return append(list, h.sent.contexts(h.key(""), known, mostSessions)...), err
}
