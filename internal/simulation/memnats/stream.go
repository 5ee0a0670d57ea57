package memnats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A StreamConfig is that of a stream.
type StreamConfig = jetstream.StreamConfig

// A Message is a stored one.
type Message struct {
	Seq     uint64
	Subject string
	Header  []byte // as on the wire
	Data    []byte
	Time    time.Time
}

// A stream keeps messages.
type stream struct {
	server    *Server
	cfg       StreamConfig
	created   time.Time
	last      uint64
	msgs      []*Message // by sequence
	heads     map[string]*Message
	ids       map[string]noted
	consumers []*consumer
}

// noted is where the message with an id is, and when it came.
type noted struct {
	seq uint64
	at  time.Time
}

func (s *Server) addStream(cfg StreamConfig) *stream {
	st := &stream{server: s, cfg: cfg, created: time.Now(), heads: map[string]*Message{}, ids: map[string]noted{}}
	if cfg.FirstSeq > 0 {
		st.last = cfg.FirstSeq - 1
	}
	s.streams = append(s.streams, st)
	s.names[cfg.Name] = st
	return st
}

// Configs are those of the streams there are.
func (s *Server) Configs() (list []StreamConfig) {
	for _, st := range s.streams {
		list = append(list, st.cfg)
	}
	return list
}

// Messages are those that a stream keeps.
func (s *Server) Messages(stream string) []*Message {
	if st := s.names[stream]; st != nil {
		return st.msgs
	}
	return nil
}

func (st *stream) takes(subject string) bool {
	return slices.ContainsFunc(st.cfg.Subjects, func(p string) bool { return matches(p, subject) })
}

// publish stores a message and answers.
func (st *stream) publish(subject, reply string, header, data []byte) {
	seq, answer := st.store(subject, header, data)
	if answer == "" {
		answer = fmt.Sprintf(`{"stream":%q,"seq":%d}`, st.cfg.Name, seq)
	}
	st.server.send(reply, "", nil, []byte(answer))
}

// store stores a message; answer is what is to be said when it does not.
func (st *stream) store(subject string, h, data []byte) (seq uint64, answer string) {
	now := time.Now()
	id, _ := header(h, msgIDHeader)
	if was, ok := st.ids[id]; ok && id != "" && now.Sub(was.at) < st.cfg.Duplicates {
		return was.seq, fmt.Sprintf(`{"stream":%q,"seq":%d,"duplicate": true}`, st.cfg.Name, was.seq)
	}
	if expected, ok := header(h, expectedHeader); ok {
		last := uint64(0)
		if head := st.heads[subject]; head != nil {
			last = head.Seq
		}
		if expected != strconv.FormatUint(last, 10) {
			return 0, fmt.Sprintf(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: %d"},"stream":%q,"seq":0}`, last, st.cfg.Name)
		}
	}
	if spec, ok := header(h, scheduleHeader); ok {
		if _, err := scheduleTime(spec); err != nil {
			return 0, `{"error":{"code":400,"err_code":10189,"description":"message schedule is invalid"}}`
		}
	}
	rollup, _ := header(h, rollupHeader)
	if _, scheduled := header(h, scheduleHeader); rollup == "sub" || scheduled || st.cfg.MaxMsgsPerSubject == 1 {
		st.remove(func(m *Message) bool { return m.Subject == subject })
	}
	st.last++
	m := &Message{Seq: st.last, Subject: subject, Header: h, Data: data, Time: now}
	st.msgs = append(st.msgs, m)
	st.heads[subject] = m
	if id != "" {
		st.ids[id] = noted{m.Seq, now}
	}
	if st.server.Stored != nil {
		st.server.Stored(st.cfg.Name, m)
	}
	for _, o := range st.consumers {
		o.pump()
	}
	return m.Seq, ""
}

// remove deletes messages; their sequences are not used again.
func (st *stream) remove(is func(*Message) bool) {
	st.msgs = slices.DeleteFunc(slices.Clone(st.msgs), func(m *Message) bool {
		if !is(m) {
			return false
		}
		if st.heads[m.Subject] == m {
			delete(st.heads, m.Subject)
		}
		return true
	})
}

// at is the index of the first message with sequence seq or more.
func (st *stream) at(seq uint64) int {
	i, _ := slices.BinarySearchFunc(st.msgs, seq, func(m *Message, seq uint64) int {
		switch {
		case m.Seq < seq:
			return -1
		case m.Seq > seq:
			return 1
		}
		return 0
	})
	return i
}

func (st *stream) get(seq uint64) *Message {
	if i := st.at(seq); i < len(st.msgs) && st.msgs[i].Seq == seq {
		return st.msgs[i]
	}
	return nil
}

// next is the first message from a sequence on that one of the filters takes.
func (st *stream) next(seq uint64, filters []string) *Message {
	for _, m := range st.msgs[st.at(seq):] {
		if filtered(filters, m.Subject) {
			return m
		}
	}
	return nil
}

func filtered(filters []string, subject string) bool {
	return len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool { return matches(f, subject) })
}

func (st *stream) info() *jetstream.StreamInfo {
	state := jetstream.StreamState{Msgs: uint64(len(st.msgs)), LastSeq: st.last, FirstSeq: st.last + 1, Consumers: len(st.consumers)}
	if len(st.msgs) > 0 {
		state.FirstSeq, state.FirstTime, state.LastTime = st.msgs[0].Seq, st.msgs[0].Time, st.msgs[len(st.msgs)-1].Time
	}
	return &jetstream.StreamInfo{Config: st.cfg, Created: st.created, State: state, TimeStamp: time.Now()}
}

// scheduleTime is when a message schedule of the form "@at" is due.
func scheduleTime(spec string) (time.Time, error) {
	at, ok := strings.CutPrefix(spec, "@at ")
	if !ok {
		return time.Time{}, fmt.Errorf("schedule %q: this server knows no other than @at", spec)
	}
	return time.Parse(time.RFC3339, at)
}

// due fires the schedules of a stream whose time has come, and returns when the next has.
func (st *stream) due(now time.Time) (next time.Time) {
	if !st.cfg.AllowMsgSchedules {
		return next
	}
	for _, m := range st.msgs {
		spec, ok := header(m.Header, scheduleHeader)
		at, err := scheduleTime(spec)
		switch {
		case !ok || err != nil:
		case at.After(now):
			next = earlier(next, at)
		default:
			st.remove(func(other *Message) bool { return other == m })
			target, _ := header(m.Header, targetHeader)
			_, _ = st.store(target, withoutHeaders(m.Header, scheduleHeader, "Nats-Expected-", msgIDHeader, "Nats-TTL", rollupHeader), m.Data)
			return now
		}
	}
	return next
}

// earlier is the earlier of two times, of which one may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
