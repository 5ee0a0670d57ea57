package plugins

import (
	"strings"
	"sync"
	"time"
)

// The states of an account on a host.
const (
	StateStarting   = "starting"
	StateStandby    = "standing by"  // another host owns it, or none yet
	StateConnecting = "connecting"   // this host owns it and is not logged in
	StateConnected  = "connected"    // and is
	StateRetrying   = "reconnecting" // it will be soon: the connection was lost
	StateRefused    = "refused"      // the platform does not let it in; a try every five minutes
	StateNoNATS     = "NATS is away"
	StateStopped    = "stopped"
)

// A Status is how an account is doing on one host.
type Status struct {
	Channel  string
	Instance string
	Owner    bool // this host owns the account
	State    string
	Since    time.Time // connected since; zero: it is not
	As       string    // the name it is logged in under
	// Counts since the host started: messages taken and replies delivered, tries that
	// failed and are made again, and replies that became dead letters.
	In, Out, Retries, Dead uint64
	// Waiting is how many replies are not delivered, and Oldest when the first of them
	// was sent. The owner knows.
	Waiting   int
	Oldest    time.Time
	LastError string
}

type status struct {
	mu      sync.Mutex
	now     Status
	waiting func() (int, time.Time) // nil: this host does not own the account
}

func newStatus(a Account) *status {
	return &status{now: Status{Channel: a.Channel, Instance: a.Instance, State: StateStarting}}
}

func (s *status) snapshot() Status {
	s.mu.Lock()
	now, waiting := s.now, s.waiting
	s.mu.Unlock()
	if waiting != nil {
		now.Waiting, now.Oldest = waiting()
	}
	return now
}

// longestError bounds LastError: the words are a platform's.
const longestError = 4 << 10

// change changes the status with its lock held.
func (s *status) change(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.now)
	if len(s.now.LastError) > longestError {
		s.now.LastError = strings.ToValidUTF8(s.now.LastError[:longestError], "") + "…"
	}
}

func (s *status) set(state string) {
	s.change(func(now *Status) {
		now.State = state
		if state != StateConnected {
			now.Since = time.Time{}
		}
	})
}

func (s *status) failed(state string, err error) {
	s.set(state)
	s.change(func(now *Status) { now.LastError = err.Error() })
}

// owns notes that this host owns the account; waiting is what is not delivered.
func (s *status) owns(waiting func() (int, time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Owner, s.waiting = waiting != nil, waiting
}

func (s *status) connected(as string) {
	s.change(func(now *Status) {
		now.State, now.As, now.LastError = StateConnected, as, ""
		if now.Since.IsZero() {
			now.Since = time.Now()
		}
	})
}

// letIn is connected under the same name.
func (s *status) letIn() {
	s.mu.Lock()
	as := s.now.As
	s.mu.Unlock()
	s.connected(as)
}
