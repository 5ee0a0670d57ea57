package a2a

import (
	"context"
	"slices"
	"strings"
	"sync"

	"agenthost/bus"
	"agenthost/bus/records"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

// mostSent is how many tasks are known before the log has them.
const mostSent = 10_000

// sent are the tasks that were sent last: a log has nothing of a run before the first
// answer of its model, and never what went no further than the door. They are read from
// the stream of messages, so that those of other hosts, and of this one before it was
// started again, are known as well. It is safe for concurrent use.
type sent struct {
	reader *records.Reader

	mu    sync.Mutex
	tasks map[string]*record // by what key of a handler says
	order []string
	read  map[string]uint64 // of each subject, up to which sequence
	turns map[string]chan struct{}
}

func newSent(reader *records.Reader) *sent {
	return &sent{reader: reader, tasks: map[string]*record{}, read: map[string]uint64{}, turns: map[string]chan struct{}{}}
}

func (s *sent) get(key string) (*record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.tasks[key]
	return r, ok
}

// put adds a task, or what it has become.
func (s *sent) put(key string, r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[key] == nil {
		s.order = append(s.order, key)
	}
	s.tasks[key] = r
	if len(s.order) > mostSent {
		delete(s.tasks, s.order[0])
		s.order = s.order[1:]
	}
}

// before are the tasks of a context that were sent before one. Prefix begins the keys of its
// agent and token.
func (s *sent) before(key, prefix, context string) (list []*record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.order[:max(0, slices.Index(s.order, key))] {
		if r := s.tasks[k]; strings.HasPrefix(k, prefix) && r.ContextID == context {
			list = append(list, r)
		}
	}
	return list
}

// from waits for the turn to read a subject, and says from where on. Requests that come
// together read it once: the first all of it, the others what has come meanwhile.
func (s *sent) from(ctx context.Context, subject string) (seq uint64, done func(to uint64), err error) {
	s.mu.Lock()
	turn := s.turns[subject]
	if turn == nil {
		turn = make(chan struct{}, 1)
		s.turns[subject] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read[subject], func(to uint64) {
		s.mu.Lock()
		s.read[subject] = to
		s.mu.Unlock()
		<-turn
	}, nil
}

// look reads what has come on the subject of a visit since it was looked at last.
func (h *handler) look(ctx context.Context) error {
	subject := bus.InboundPrefix + bus.DoorA2A
	if h.visit.Instance != "" {
		subject += "." + h.visit.Instance
	}
	from, done, err := h.sent.from(ctx, subject)
	if err != nil {
		return err
	}
	defer func() { done(from) }()
	for rec, err := range h.sent.reader.Tail(ctx, bus.InboundStream, subject, from+1) {
		if err != nil {
			return err
		}
		h.note(rec)
		from = rec.Seq
	}
	return nil
}

// note adds the task that a message begins.
func (h *handler) note(rec records.Record) {
	in, err := bus.ReadInbound(rec.Data)
	if err != nil || in.ID == "" || in.Conversation == "" || in.Answers != "" || in.Text == stopOrder {
		return
	}
	r := begun(in.Conversation, in.ID, in.Text, in.Media)
	r.is(proto.TaskStateSubmitted, rec.Time.UTC())
	key := in.Agent + "/" + h.visit.Instance + "/" + string(r.ID)
	if _, known := h.sent.get(key); !known {
		h.sent.put(key, r)
	}
}

// onItsWay is a task that no log has yet.
func (h *handler) onItsWay(ctx context.Context, id proto.TaskID) (*record, error) {
	if err := h.look(ctx); err != nil {
		return nil, h.trouble("read the messages", err)
	}
	r, ok := h.sent.get(h.key(id))
	if !ok {
		return nil, noTask(id)
	}
	if out, ended := h.parts.Desk.EndOf(h.place(r.ContextID), r.message); ended && !r.Status.State.Terminal() {
		whole := *r
		whole.finish(out, out.SentAt)
		r = &whole
		h.sent.put(h.key(id), r)
	}
	return r, nil
}

// current is a task as it is now. Whether the run of one that no log has yet has begun is
// known by its host.
func (h *handler) current(ctx context.Context, id proto.TaskID) (*record, error) {
	r, err := h.task(ctx, id)
	if err != nil || r.Status.State != proto.TaskStateSubmitted {
		return r, err
	}
	if waits, err := h.waits(ctx, r); waits || err != nil {
		return r, err
	}
	list, err := h.parts.Desk.Client().Runs(ctx)
	if err != nil { // what is stored is known all the same
		return r, nil //nolint:nilerr // hosts that do not answer say nothing of it
	}
	session := h.parts.Desk.Key(h.place(r.ContextID))
	for _, run := range list.Runs {
		if run.Agent == h.agent.ID && run.Session == session && run.Run != "" {
			begun := *r
			begun.is(proto.TaskStateWorking, run.Since)
			return &begun, nil
		}
	}
	return r, nil
}

// waits reports whether an earlier task of the context has not ended: a run takes its
// message after that.
func (h *handler) waits(ctx context.Context, r *record) (bool, error) {
	s, err := h.tasks(ctx, r.ContextID)
	if err != nil {
		return false, h.trouble("read the tasks", err)
	}
	for _, other := range s.tasks { // in the order in which runs took their messages
		if other.ID == r.ID {
			return false, nil
		}
		if !other.Status.State.Terminal() {
			return true, nil
		}
	}
	for _, other := range h.sent.before(h.key(r.ID), h.key(""), r.ContextID) {
		if logged := s.byID[other.message]; logged == nil && !other.Status.State.Terminal() {
			return true, nil
		}
	}
	return false, nil
}
