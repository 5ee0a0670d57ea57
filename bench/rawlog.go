package bench

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The stream of the commits that an echo with a log stores.
const (
	echoLogs   = "AGENTHOST_BENCH_LOG"
	echoLog    = "agenthost_bench.log."
	commitSize = 1300 // bytes of a host's commit of a plain answer
)

// A rawLog stores a commit for each message before it is answered, behind the one before of
// its session, as a host does: the third stored message of a turn. What an echo is slower
// with it no host can win back.
type rawLog struct {
	js     jetstream.JetStream
	answer func(jetstream.Msg) // called when the commit is stored
	data   []byte

	mu       sync.Mutex
	sessions map[string]*rawSession // by subject
	flight   chan commit            // with room for all that the consumers may have given
	closed   chan struct{}
}

type rawSession struct {
	last    uint64 // sequence of the last commit
	busy    bool
	waiting []jetstream.Msg
}

type commit struct {
	stored  jetstream.PubAckFuture
	msg     jetstream.Msg
	subject string
}

func openRawLog(js jetstream.JetStream, answer func(jetstream.Msg)) *rawLog {
	l := &rawLog{
		js: js, answer: answer, data: make([]byte, commitSize), sessions: map[string]*rawSession{},
		flight: make(chan commit, 2*echoFlight), closed: make(chan struct{}),
	}
	go l.run()
	return l
}

// take stores the commit of a message, or lets it wait for that of the session before.
func (l *rawLog) take(m jetstream.Msg) {
	var in struct{ From string }
	if json.Unmarshal(m.Data(), &in) != nil || in.From == "" {
		return // another program has published it
	}
	subject := echoLog + m.Subject()[len(echoInput):] + "." + in.From
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[subject]
	if s == nil {
		s = &rawSession{}
		l.sessions[subject] = s
	}
	if s.busy {
		s.waiting = append(s.waiting, m)
		return
	}
	l.send(s, subject, m)
}

func (l *rawLog) send(s *rawSession, subject string, m jetstream.Msg) {
	msg := &nats.Msg{Subject: subject, Data: l.data, Header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(s.last, 10)},
	}}
	stored, err := l.js.PublishMsgAsync(msg)
	if err != nil {
		return // the message comes again
	}
	s.busy = true
	l.flight <- commit{stored, m, subject}
}

func (l *rawLog) run() {
	defer close(l.closed)
	for c := range l.flight {
		var seq uint64
		select {
		case ack := <-c.stored.Ok():
			seq = ack.Sequence
			l.answer(c.msg)
		case <-c.stored.Err(): //nolint:errcheck // whatever it is: the message comes again
		}
		l.mu.Lock()
		s := l.sessions[c.subject]
		s.busy = false
		if seq > 0 {
			s.last = seq
		}
		if len(s.waiting) > 0 {
			m := s.waiting[0]
			s.waiting = s.waiting[1:]
			l.send(s, c.subject, m)
		}
		l.mu.Unlock()
	}
}

// close waits for what is on its way. Nothing may be taken any more.
func (l *rawLog) close() {
	close(l.flight)
	<-l.closed
}
