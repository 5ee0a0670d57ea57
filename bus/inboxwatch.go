package bus

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// The pauses before a connection is made again that gets no answers.
const (
	deafFirst = 5 * time.Second // a start that is refused has ended before
	deafMost  = time.Minute
)

// An inboxWatch makes a connection again whose subscriptions for answers the server has taken
// away, as it does when its user may not have them any more. It does not give them back when
// the user may again, so that all requests would time out for as long as the connection lives.
// Nothing is lost by that: without answers there is no use of it.
type inboxWatch struct {
	mu      sync.Mutex
	planned bool
	pause   time.Duration
	last    time.Time // it was made again
}

// failed hears of the errors that a server reports.
func (w *inboxWatch) failed(nc *nats.Conn, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `Subscription to "`+cmp.Or(nc.Opts.InboxPrefix, "_INBOX")+".") {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.planned {
		return
	}
	w.planned = true
	if w.pause = min(2*w.pause, deafMost); w.pause == 0 || time.Since(w.last) > 2*deafMost {
		w.pause = deafFirst
	}
	time.AfterFunc(w.pause, func() { w.again(nc) })
}

func (w *inboxWatch) again(nc *nats.Conn) {
	w.mu.Lock()
	w.planned, w.last = false, time.Now()
	w.mu.Unlock()
	_ = nc.ForceReconnect() // fails only where the connection is closed
}
