package memnats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A consumer hands out the messages of a stream. It does what nats-server does, in
// server/consumer.go: the names of its fields are that server's.
type consumer struct {
	st      *stream
	cfg     consumerConfig
	created time.Time
	filters []string

	sseq, dseq   uint64 // next to be delivered
	asflr, adflr uint64 // all up to there is acknowledged
	pending      map[uint64]*pendingAck
	redelivered  map[uint64]uint64 // how often
	redeliver    []uint64
	waiting      []*pull
	pin          string
	pinEnds      time.Time
	only         []uint64  // the sequences it begins with, where it begins with the last of each subject
	beats        time.Time // of a push consumer, next
	asked        string    // where the answer to who has made it went, of a push consumer
}

// A consumerConfig is that of a consumer; the push consumers of buckets have fields that
// the pull consumers of the newer client lack.
type consumerConfig struct {
	jetstream.ConsumerConfig
	DeliverSubject string        `json:"deliver_subject,omitempty"`
	Heartbeat      time.Duration `json:"idle_heartbeat,omitempty"`
	FlowControl    bool          `json:"flow_control,omitempty"`
}

func newConsumer(st *stream, cfg consumerConfig) *consumer {
	o := &consumer{
		st: st, cfg: cfg, created: time.Now(), sseq: 1, dseq: 1, pending: map[uint64]*pendingAck{}, redelivered: map[uint64]uint64{},
	}
	o.setFilters(cfg)
	switch cfg.DeliverPolicy {
	case jetstream.DeliverByStartSequencePolicy:
		o.sseq = cfg.OptStartSeq
	case jetstream.DeliverNewPolicy:
		o.sseq = st.last + 1
	case jetstream.DeliverLastPerSubjectPolicy:
		for _, head := range st.heads {
			if filtered(o.filters, head.Subject) {
				o.only = append(o.only, head.Seq)
			}
		}
		slices.Sort(o.only)
		if o.sseq = st.last + 1; len(o.only) > 0 {
			o.sseq = o.only[0]
		}
	case jetstream.DeliverLastPolicy, jetstream.DeliverAllPolicy, jetstream.DeliverByStartTimePolicy:
	}
	o.asflr = o.sseq - 1
	if cfg.Heartbeat > 0 {
		o.beats = time.Now().Add(cfg.Heartbeat)
	}
	return o
}

func (o *consumer) setFilters(cfg consumerConfig) {
	o.filters = cfg.FilterSubjects
	if cfg.FilterSubject != "" {
		o.filters = []string{cfg.FilterSubject}
	}
}

func (o *consumer) pinned() bool { return o.cfg.PriorityPolicy == jetstream.PriorityPolicyPinned }

// pump delivers as long as there are messages and requests.
func (o *consumer) pump() {
	for o.deliver() {
	}
	o.waiting = slices.DeleteFunc(o.waiting, func(p *pull) bool {
		if p.noWait {
			o.st.server.send(p.reply, "", status(404, "No Messages"), nil)
		}
		return p.noWait
	})
}

func (o *consumer) deliver() bool {
	if o.cfg.DeliverSubject != "" && !o.st.server.listens(o.cfg.DeliverSubject) {
		return false
	}
	if o.cfg.DeliverSubject == "" && len(o.waiting) == 0 {
		return false
	}
	m, again := o.next()
	if m == nil {
		return false
	}
	to := o.cfg.DeliverSubject
	if to == "" {
		p := o.nextWaiting(len(m.Subject) + len(m.Header) + len(m.Data) + 80)
		if p == nil {
			return false
		}
		to = p.reply
	}
	o.send(to, m, again)
	return true
}

// next is the message that is to be delivered now.
func (o *consumer) next() (m *Message, again bool) {
	for len(o.redeliver) > 0 {
		if m := o.st.get(o.redeliver[0]); m != nil {
			return m, true
		}
		delete(o.pending, o.redeliver[0])
		o.redeliver = o.redeliver[1:]
	}
	if o.cfg.MaxAckPending > 0 && len(o.pending) >= o.cfg.MaxAckPending {
		return nil, false
	}
	for len(o.only) > 0 {
		if m := o.st.get(o.only[0]); m != nil {
			return m, false
		}
		o.only = o.only[1:] // it was replaced
	}
	return o.st.next(o.sseq, o.filters), false
}

func (o *consumer) holdPin() { o.pinEnds = time.Now().Add(o.cfg.PinnedTTL) }

func (o *consumer) end(p *pull, code int, words string) {
	o.st.server.send(p.reply, "", status(code, words, "Nats-Pending-Messages", strconv.Itoa(p.n), "Nats-Pending-Bytes", strconv.Itoa(p.bytes)), nil)
}

// send delivers a message.
func (o *consumer) send(to string, m *Message, again bool) {
	count := uint64(1)
	if again {
		o.redeliver = o.redeliver[1:]
		o.redelivered[m.Seq]++
		count = o.redelivered[m.Seq] + 1
	} else if len(o.only) > 0 {
		if o.only = o.only[1:]; len(o.only) > 0 {
			o.sseq = o.only[0]
		} else {
			o.sseq = o.st.last + 1
		}
	} else {
		o.sseq = m.Seq + 1
	}
	dseq := o.dseq
	o.dseq++
	if o.cfg.AckPolicy == jetstream.AckNonePolicy {
		o.adflr, o.asflr = dseq, m.Seq
	} else if p := o.pending[m.Seq]; p != nil {
		p.at = time.Now()
	} else {
		o.pending[m.Seq] = &pendingAck{dseq: dseq, at: time.Now()}
	}
	reply := fmt.Sprintf("$JS.ACK.%s.%s.%d.%d.%d.%d.%d", o.st.cfg.Name, o.cfg.Name, count, m.Seq, dseq, m.Time.UnixNano(), o.numPending())
	h := m.Header
	if o.pinned() {
		h = withHeaders(h, pinHeader, o.pin)
	}
	data := m.Data
	if o.cfg.HeadersOnly {
		h, data = withHeaders(h, "Nats-Msg-Size", strconv.Itoa(len(data))), nil
	}
	o.st.server.sendAs(to, m.Subject, reply, h, data)
}

func (o *consumer) numPending() (n uint64) {
	if len(o.only) > 0 {
		return uint64(len(o.only))
	}
	for _, m := range o.st.msgs[o.st.at(o.sseq):] {
		if filtered(o.filters, m.Subject) {
			n++
		}
	}
	return n
}

// tick does what is due, and returns when the next is.
func (o *consumer) tick(now time.Time) (next time.Time) {
	if o.cfg.AckPolicy != jetstream.AckNonePolicy && o.cfg.AckWait > 0 {
		var late []uint64
		for seq, p := range o.pending {
			due := p.at.Add(o.cfg.AckWait)
			switch {
			case slices.Contains(o.redeliver, seq):
			case due.After(now):
				next = earlier(next, due)
			default:
				late = append(late, seq)
			}
		}
		slices.Sort(late)
		for _, seq := range late {
			o.pending[seq].at = now
		}
		if o.redeliver = append(o.redeliver, late...); len(late) > 0 {
			o.pump()
			next = earlier(next, now.Add(o.cfg.AckWait))
		}
	}
	if o.pin != "" {
		if !o.pinEnds.After(now) {
			o.pin = ""
			o.pump()
		} else {
			next = earlier(next, o.pinEnds)
		}
	}
	o.waiting = slices.DeleteFunc(o.waiting, func(p *pull) bool {
		switch {
		case !o.st.server.listens(p.reply):
			return true
		case !p.expires.IsZero() && !p.expires.After(now):
			o.end(p, 408, "Request Timeout")
			return true
		}
		if p.beat > 0 && !p.beats.After(now) {
			o.st.server.send(p.reply, "", o.beat(), nil)
			p.beats = now.Add(p.beat)
		}
		next = earlier(next, p.expires)
		next = earlier(next, p.beats)
		return false
	})
	if !o.beats.IsZero() {
		if !o.beats.After(now) {
			o.st.server.send(o.cfg.DeliverSubject, "", o.beat(), nil)
			o.beats = now.Add(o.cfg.Heartbeat)
		}
		next = earlier(next, o.beats)
	}
	return next
}

func (o *consumer) beat() []byte {
	return status(100, "Idle Heartbeat", "Nats-Last-Consumer", strconv.FormatUint(o.dseq-1, 10), "Nats-Last-Stream", strconv.FormatUint(o.sseq-1, 10))
}

func (o *consumer) info() *jetstream.ConsumerInfo {
	cfg := o.cfg.ConsumerConfig
	info := &jetstream.ConsumerInfo{
		Stream: o.st.cfg.Name, Name: cfg.Name, Created: o.created, Config: cfg,
		Delivered: jetstream.SequenceInfo{Consumer: o.dseq - 1, Stream: o.sseq - 1}, AckFloor: jetstream.SequenceInfo{Consumer: o.adflr, Stream: o.asflr},
		NumAckPending: len(o.pending), NumRedelivered: len(o.redelivered), NumWaiting: len(o.waiting), NumPending: o.numPending(), TimeStamp: time.Now(),
	}
	if o.pinned() {
		info.PriorityGroups = []jetstream.PriorityGroupState{{Group: strings.Join(cfg.PriorityGroups, ","), PinnedClientID: o.pin}}
	}
	return info
}

// Tick does what is due, and returns when the next is; zero: nothing ever.
func (s *Server) Tick() (next time.Time) {
	now := time.Now()
	for _, st := range s.streams {
		next = earlier(next, st.due(now))
		for _, o := range st.consumers {
			next = earlier(next, o.tick(now))
		}
	}
	return next
}

// Unacked is how many messages of lanes were delivered and not acknowledged, or not
// delivered yet.
func (s *Server) Unacked() (n int) {
	for _, st := range s.streams {
		for _, o := range st.consumers {
			if o.pinned() {
				n += len(o.pending) + int(o.numPending())
			}
		}
	}
	return n
}
