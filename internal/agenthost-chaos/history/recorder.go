// Package history records what hosts commit to sessions, by what passes on their
// connections to NATS, and checks that the log of each session was a fenced append register
// all the time: an append succeeds only on the state that its host expected, and takes effect
// between its call and its answer.
package history

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// SessionPrefix is how subjects of session logs begin.
const SessionPrefix = "agent.session."

// CommitHeader has the id of a commit, which all its copies share.
const CommitHeader = "Agent-Commit"

// An Outcome is what a host was answered to a commit.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // no answer, or one that leaves open what became of an earlier copy
	Stored
	Refused
)

// An Append is a commit that a host has sent, once or several times.
type Append struct {
	Host, Subject, ID string
	Expected          uint64 // last sequence of the session, as the host knows it
	Copies            int
	Outcome           Outcome
	Seq               uint64        // stored: of the commit
	Last              uint64        // refused: of the session, by the server; 0 when it did not say
	Call, Return      time.Duration // since the recorder began
}

// A Recorder notes appends. It is safe for concurrent use.
type Recorder struct {
	begun time.Time

	mu      sync.Mutex
	appends map[string]*Append // by id
	order   []*Append
	awaited map[string]*Append // by the subject of the answer, which no other message has
}

// An answer is what the server says of a message.
type answer struct {
	Seq   uint64
	Error *jetstream.APIError
}

// NewRecorder makes a recorder that has seen nothing.
func NewRecorder() *Recorder {
	return &Recorder{begun: time.Now(), appends: map[string]*Append{}, awaited: map[string]*Append{}}
}

// Tap observes a new connection of a host: each function takes the data of one direction
// before that goes on.
func (r *Recorder) Tap(host string) (toServer, toClient func([]byte)) {
	sent := newSplitter(func(f frame) { r.sent(host, f) })
	answered := newSplitter(r.answered)
	return sent.feed, answered.feed
}

func (r *Recorder) sent(host string, f frame) {
	if f.reply == "" || strings.HasPrefix(f.subject, "$") {
		return // it is stored by no stream
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.commit(host, f); a != nil {
		r.awaited[f.reply] = a
	}
}

// commit notes a copy of a commit; nil: it is another message. The caller holds mu.
func (r *Recorder) commit(host string, f frame) *Append {
	if !strings.HasPrefix(f.subject, SessionPrefix) || f.header == nil {
		return nil
	}
	id := f.header.Get(CommitHeader)
	expected, err := strconv.ParseUint(f.header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
	if id == "" || err != nil {
		return nil
	}
	a := r.appends[id]
	if a == nil {
		a = &Append{Host: host, Subject: f.subject, ID: id, Expected: expected, Call: time.Since(r.begun)}
		r.appends[id] = a
		r.order = append(r.order, a)
	}
	a.Copies++
	return a
}

// wrongLast are the codes of the server for an append on another state than the expected
// one. The second says only that another append is on its way.
const (
	wrongLast         jetstream.ErrorCode = 10071
	wrongLastConstant jetstream.ErrorCode = 10164
)

func (r *Recorder) answered(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.awaited[f.subject]
	var said answer
	if a == nil || a.Outcome == Stored || json.Unmarshal(f.data, &said) != nil {
		return
	}
	a.settle(said, time.Since(r.begun))
}

// settle takes an answer.
func (a *Append) settle(said answer, at time.Duration) {
	switch {
	case said.Error == nil && said.Seq > 0:
		a.Outcome, a.Seq, a.Return = Stored, said.Seq, at
	case said.Error != nil && (said.Error.ErrorCode == wrongLast || said.Error.ErrorCode == wrongLastConstant) && a.Copies == 1:
		a.Outcome, a.Return = Refused, at
		_, last, _ := strings.Cut(said.Error.Description, ": ")
		a.Last, _ = strconv.ParseUint(last, 10, 64) // 0: the server does not say
	}
}

// Appends are those seen so far, in the order of their calls.
func (r *Recorder) Appends() []Append {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Append, 0, len(r.order))
	for _, a := range r.order {
		list = append(list, *a)
	}
	return list
}
