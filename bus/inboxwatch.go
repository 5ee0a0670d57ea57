package bus

import (
	"cmp"
	"errors"
	"fmt"
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

// An inboxWatch makes a connection again that lacks subscriptions which the server gives back to
// a new one only, so that requests would time out and messages not come for as long as this one
// lives. It has taken those for answers away, as it does when its user may not have them any
// more. Or it has refused some, as the connection may have fewer than it has. Nothing is lost by
// that: such a connection is of little use.
type inboxWatch struct {
	mu      sync.Mutex
	planned bool
	pause   time.Duration
	last    time.Time // it was made again
	short   uint64    // number of the connection that may have too few subscriptions, from 1
}

// failed hears of the errors that a server reports.
func (w *inboxWatch) failed(nc *nats.Conn, err error) {
	tooMany := errors.Is(err, nats.ErrMaxSubscriptionsExceeded)
	if !tooMany && !deafens(nc, err) {
		return
	}
	number := connectionNumber(nc)
	w.mu.Lock()
	defer w.mu.Unlock()
	if tooMany {
		w.short = number
	}
	if w.planned {
		return
	}
	w.planned = true
	if w.pause = min(2*w.pause, deafMost); w.pause == 0 || time.Since(w.last) > 2*deafMost {
		w.pause = deafFirst
	}
	time.AfterFunc(w.pause, func() { w.again(nc) })
}

// deafens reports whether err says that the server has taken the subscriptions for answers away.
func deafens(nc *nats.Conn, err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) &&
		strings.Contains(err.Error(), `Subscription to "`+cmp.Or(nc.Opts.InboxPrefix, "_INBOX")+".")
}

// connectionNumber counts the connections to a server that nc has had.
func connectionNumber(nc *nats.Conn) uint64 { return nc.Stats().Reconnects + 1 }

// ErrFewSubscriptions is what Healthy wraps while the server does not give a connection all
// subscriptions that it has.
var ErrFewSubscriptions = errors.New("NATS allows this connection too few subscriptions")

// lacking is what is wrong with a connection that may have fewer subscriptions than it has.
func (w *inboxWatch) lacking(nc *nats.Conn) error {
	w.mu.Lock()
	short := w.short
	w.mu.Unlock()
	if short == 0 || short != connectionNumber(nc) {
		return nil
	}
	return fmt.Errorf("%w: it has %d; raise max_subscriptions of the server, or the limit of the account or the user. The connection is made again by itself, within a minute",
		ErrFewSubscriptions, nc.NumSubscriptions())
}

func (w *inboxWatch) again(nc *nats.Conn) {
	w.mu.Lock()
	w.planned, w.last = false, time.Now()
	w.mu.Unlock()
	_ = nc.ForceReconnect() // fails only where the connection is closed
}
