package web

import (
	"context"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A hub follows the channel, for all pages that are open: what people write and
// what agents say, each in the order of its stream. It also knows what was written
// lately and is not answered yet, which no log has.
type hub struct {
	js  jetstream.JetStream
	log zerolog.Logger

	first sync.Once
	begun chan struct{} // closed by the first request
	ready chan struct{} // closed once nothing is missed any more

	mu       sync.Mutex
	streams  map[*stream]bool
	pending  map[string][]pending // by person
	count    int                  // of pending
	answered map[string]time.Time // by person and id, lately
	last     uint64               // sequence in AGENT_OUTBOUND
}

// A pending message is stored and not answered yet.
type pending struct {
	item  Item
	media []bus.Media
}

// A stream is a page that is open.
type stream struct {
	person string
	news   chan news
	lost   chan struct{} // closed when the page is too slow, or there is no page any more
}

// news is a line for a page, with its sequence in AGENT_OUTBOUND if it has one.
type news struct {
	seq  uint64
	item *Item
}

const (
	lately      = 30 * time.Minute // longer than a run takes
	mostPending = 20_000
	mostNews    = 256
)

func newHub(js jetstream.JetStream, log zerolog.Logger) *hub {
	return &hub{
		js: js, log: log, begun: make(chan struct{}), ready: make(chan struct{}),
		streams: map[*stream]bool{}, pending: map[string][]pending{}, answered: map[string]time.Time{},
	}
}

// begin has the hub follow the channel.
func (h *hub) begin() { h.first.Do(func() { close(h.begun) }) }

// run follows both streams from the first request on, until ctx ends.
func (h *hub) run(ctx context.Context) error {
	select {
	case <-h.begun:
	case <-ctx.Done():
		return nil
	}
	since := time.Now().Add(-lately)
	var all, caughtUp sync.WaitGroup
	caughtUp.Add(2)
	for stream, take := range map[string]func(uint64, time.Time, []byte){bus.InboundStream: h.inbound, bus.OutboundStream: h.outbound} {
		all.Go(func() { h.follow(ctx, stream, since, sync.OnceFunc(caughtUp.Done), take) })
	}
	all.Go(func() {
		caughtUp.Wait()
		close(h.ready)
	})
	all.Wait()
	return nil
}

// follow takes what is and comes in a stream, until ctx ends.
func (h *hub) follow(ctx context.Context, name string, since time.Time, caughtUp func(), take func(uint64, time.Time, []byte)) {
	defer caughtUp()                                       // callers that wait give up with ctx
	_ = records.FollowStream(ctx, h.js, records.Following{ // it ends with ctx
		Stream: name, Subjects: []string{map[string]string{bus.InboundStream: inward, bus.OutboundStream: outward}[name]}, Since: since,
		Patient: true, Log: h.log,
		MadeAgain: func() {
			if name == bus.OutboundStream {
				h.startOver()
			}
		},
		Began: func(_, pending uint64) {
			if pending > 0 {
				return
			}
			if name == bus.OutboundStream {
				h.skip(ctx)
			}
			caughtUp()
		},
		Take: func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
			take(meta.Sequence.Stream, meta.Timestamp, msg.Data())
			if meta.NumPending == 0 {
				caughtUp()
			}
			return nil
		},
	})
}

// skip notes how far the stream of replies is when nothing new is in it.
func (h *hub) skip(ctx context.Context) {
	s, err := h.js.Stream(ctx, bus.OutboundStream)
	if err != nil {
		return // the page reads from an earlier place
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = max(h.last, s.CachedInfo().State.LastSeq)
}

// startOver ends the streams of all pages when the stream of replies was made again: the
// places that they have come to are of the one before, and nothing new would be behind them.
func (h *hub) startOver() {
	h.mu.Lock()
	h.last = 0
	h.mu.Unlock()
	h.cut()
}

// inbound takes what a person has written.
func (h *hub) inbound(_ uint64, at time.Time, data []byte) {
	in, err := bus.DecodeInbound(data)
	if err != nil || in.ID == "" || in.Agent == "" {
		return // another program's
	}
	it := ofInbound(&in, in.Agent, at.UTC())
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.Answers != "" {
		h.tell(in.From, news{item: &Item{
			ID: in.ID, Agent: in.Agent, Conversation: conversationID(in.Thread), Mine: true, Kind: kindAnswer,
			Call: in.Answers, Text: in.Text, At: at.UTC(),
		}})
	}
	if it == nil {
		return
	}
	h.forget(time.Now())
	if _, done := h.answered[in.From+"\x00"+in.ID]; !done && h.count < mostPending {
		h.pending[in.From] = append(h.pending[in.From], pending{*it, in.Media})
		h.count++
	}
	h.tell(in.From, news{item: it})
}

// outbound takes what an agent has said.
func (h *hub) outbound(seq uint64, _ time.Time, data []byte) {
	out, ok := readOutbound(data)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = max(h.last, seq)
	if !ok {
		return
	}
	it := ofOutbound(out)
	if out.Final {
		h.settle(out.To, append(it.InReplyTo, out.InReplyTo))
	}
	h.tell(out.To, news{seq, it})
}

// settle notes that messages of a person are answered.
func (h *hub) settle(person string, ids []string) {
	for _, id := range ids {
		h.answered[person+"\x00"+id] = time.Now()
	}
	h.keep(person, func(p pending) bool { _, done := h.answered[person+"\x00"+p.item.ID]; return !done })
}

func (h *hub) keep(person string, stays func(pending) bool) {
	var left []pending
	for _, p := range h.pending[person] {
		if stays(p) {
			left = append(left, p)
		}
	}
	h.count -= len(h.pending[person]) - len(left)
	if h.pending[person] = left; len(left) == 0 {
		delete(h.pending, person)
	}
}

// forget drops what is old, once there is much of it.
func (h *hub) forget(now time.Time) {
	if len(h.answered) > mostPending {
		for id, at := range h.answered {
			if now.Sub(at) > lately {
				delete(h.answered, id)
			}
		}
	}
	if h.count >= mostPending {
		for person := range h.pending {
			h.keep(person, func(p pending) bool { return now.Sub(p.item.At) < lately })
		}
	}
}

// tell hands a line to the pages of a person. A page that does not read is closed,
// and comes again with the number of its last line.
func (h *hub) tell(person string, n news) {
	for s := range h.streams {
		if s.person != person {
			continue
		}
		select {
		case s.news <- n:
		default:
			delete(h.streams, s)
			close(s.lost)
		}
	}
}

// cut ends the streams of all pages.
func (h *hub) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.streams {
		delete(h.streams, s)
		close(s.lost)
	}
}

// join opens a stream for a page. What is stored from seq on comes by it.
func (h *hub) join(person string) (s *stream, seq uint64) {
	s = &stream{person: person, news: make(chan news, mostNews), lost: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams[s] = true
	return s, h.last
}

func (h *hub) leave(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
}

// newest is how far the hub has read AGENT_OUTBOUND.
func (h *hub) newest() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// unanswered is what was written lately in a conversation.
func (h *hub) unanswered(at place) (list []pending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pending[at.person] {
		if p.item.Agent == at.agent && p.item.Conversation == conversationID(at.thread) && time.Since(p.item.At) < lately {
			list = append(list, p)
		}
	}
	return list
}

// unansweredOf is the same of all conversations of a person with an agent.
func (h *hub) unansweredOf(agent, person string) (list []Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pending[person] {
		if p.item.Agent == agent {
			list = append(list, p.item)
		}
	}
	return list
}
