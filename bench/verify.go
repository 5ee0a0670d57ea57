package bench

import (
	"bytes"
	"strconv"
	"sync"
	"time"
)

// A verifier takes the replies of a round. The id of a message says which it
// was and when it was due, so that nothing is kept of what is under way but a
// bit a message and a number a session.
type verifier struct {
	tag      string // begins the ids of this round
	sessions int
	answered func() // called for each message, on its first reply

	mu       sync.Mutex
	seen     []uint64 // by message, a bit
	last     []int    // by session, the message answered last, from 1
	distinct int
	want     int // -1 until all are sent
	disorder int
	failed   int
	took     Histogram
	moved    time.Time     // the last reply
	done     chan struct{} // closed when all are answered
}

func newVerifier(tag string, sessions int, answered func()) *verifier {
	return &verifier{tag: tag, sessions: sessions, answered: answered, last: make([]int, sessions), want: -1, moved: time.Now(), done: make(chan struct{})}
}

// id names message i, that is due at the time given.
func (v *verifier) id(i int, due time.Time) string {
	b := make([]byte, 0, 48)
	b = append(b, v.tag...)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, due.UnixNano(), 10)
	return string(b)
}

var (
	inReplyTo = []byte(`"in_reply_to":"`)
	isError   = []byte(`"kind":"error"`)
)

// take takes a reply. It looks for two fields only: to decode whole envelopes
// would cost the machine more than some of what is measured.
func (v *verifier) take(reply []byte, now time.Time) {
	i, due, ok := v.origin(reply)
	if !ok {
		return // the answer to somebody else, or of a round before
	}
	v.mu.Lock()
	first := v.first(i)
	if first {
		v.moved = now
		v.took.Add(now.Sub(due))
		if s := i % v.sessions; i+1 < v.last[s] {
			v.disorder++
		} else {
			v.last[s] = i + 1
		}
		if bytes.Contains(reply, isError) {
			v.failed++
		}
		if v.distinct == v.want {
			close(v.done)
		}
	}
	v.mu.Unlock()
	if first {
		v.answered()
	}
}

// origin reads the id of the message that was answered.
func (v *verifier) origin(reply []byte) (i int, due time.Time, ok bool) {
	_, rest, ok := bytes.Cut(reply, inReplyTo)
	if !ok || !bytes.HasPrefix(rest, []byte(v.tag)) {
		return 0, due, false
	}
	id, _, _ := bytes.Cut(rest, []byte{'"'})
	fields := bytes.Split(id, []byte{'.'})
	if len(fields) != 3 || string(fields[0]) != v.tag {
		return 0, due, false
	}
	i, err := strconv.Atoi(string(fields[1]))
	nano, err2 := strconv.ParseInt(string(fields[2]), 10, 64)
	return i, time.Unix(0, nano), err == nil && err2 == nil && i >= 0
}

// first marks message i as answered, and reports whether it was not.
func (v *verifier) first(i int) bool {
	for len(v.seen) <= i/64 {
		v.seen = append(v.seen, make([]uint64, max(len(v.seen), 64))...)
	}
	bit := uint64(1) << (i % 64)
	if v.seen[i/64]&bit != 0 {
		return false
	}
	v.seen[i/64] |= bit
	v.distinct++
	return true
}

// expect tells that n messages were sent in all.
func (v *verifier) expect(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.want = n
	v.moved = time.Now()
	if v.distinct == n {
		close(v.done)
	}
}

// progress is how many were answered, and when the last was.
func (v *verifier) progress() (int, time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.distinct, v.moved
}
