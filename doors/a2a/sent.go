package a2a

import (
	"context"
	"slices"
	"strings"
	"sync"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/client"

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

// of are the tasks of a context, in the order in which they were sent. Prefix begins the keys of
// its agent and token.
func (s *sent) of(prefix, context string) (list []*record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.order {
		if r := s.tasks[k]; strings.HasPrefix(k, prefix) && r.ContextID == context {
			list = append(list, r)
		}
	}
	return list
}

// contexts are those of the tasks that were sent last, but for those that are known already.
func (s *sent) contexts(prefix string, known map[string]bool, most int) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range slices.Backward(s.order) {
		r := s.tasks[k]
		if strings.HasPrefix(k, prefix) && !known[r.ContextID] && len(list) < most {
			known[r.ContextID] = true
			list = append(list, r.ContextID)
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
	return h.ended(r), nil
}

// ended is a task that no log has, with its end, if that came lately.
func (h *handler) ended(r *record) *record {
	out, ok := h.parts.Desk.EndOf(h.place(r.ContextID), r.message)
	if !ok || r.Status.State.Terminal() {
		return r
	}
	whole := *r
	whole.finish(out, out.SentAt)
	h.sent.put(h.key(r.ID), &whole)
	return &whole
}

// known are the tasks of a context, in the order in which runs take their messages: those of the
// log, and those that are on their way to it.
func (h *handler) known(ctx context.Context, conversation string) ([]*record, error) {
	s, err := h.tasks(ctx, conversation)
	if err != nil {
		return nil, h.trouble("read the tasks", err)
	}
	list := s.tasks
	for _, r := range h.sent.of(h.key(""), conversation) {
		if s.byID[r.message] == nil {
			list = append(list, h.ended(r))
		}
	}
	return list, nil
}

// current is a task as it is now.
func (h *handler) current(ctx context.Context, id proto.TaskID) (*record, error) {
	r, err := h.task(ctx, id)
	if err != nil || r.Status.State != proto.TaskStateSubmitted {
		return r, err
	}
	if waits, err := h.waits(ctx, r); waits || err != nil {
		return r, err
	}
	return h.atWork().asOfNow(ctx, r), nil
}

// atWork are the runs of the fleet, as a request needs them once.
type atWork struct {
	*handler
	asked bool
	runs  []client.Run
}

func (h *handler) atWork() *atWork { return &atWork{handler: h} }

// asOfNow is a task that is the next of its context. Whether the run of one that no log has yet
// has begun is known by its host.
func (w *atWork) asOfNow(ctx context.Context, r *record) *record {
	if !w.asked {
		list, _ := w.parts.Desk.Client().Runs(ctx) // hosts that do not answer say nothing of it
		w.asked, w.runs = true, list.Runs
	}
	session := w.parts.Desk.Key(w.place(r.ContextID))
	for _, run := range w.runs {
		if run.Agent == w.agent.ID && run.Session == session && run.Run != "" {
			begun := *r
			begun.is(proto.TaskStateWorking, run.Since)
			return &begun
		}
	}
	return r
}

// isNext reports whether a task has not begun and waits for none of those before it.
func isNext(before []*record, r *record) bool {
	return r.Status.State == proto.TaskStateSubmitted &&
		!slices.ContainsFunc(before, func(b *record) bool { return !b.Status.State.Terminal() })
}

// waits reports whether an earlier task of the context has not ended: a run takes its
// message after that.
func (h *handler) waits(ctx context.Context, r *record) (bool, error) {
	list, err := h.known(ctx, r.ContextID)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(list, func(other *record) bool { return other.ID == r.ID })
	return at > 0 && !isNext(list[:at], r), nil
}
