package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A Mover has a host that NATS does not answer ask other servers of it: the one that it is connected
// to may be cut off from the others of its cluster, far behind them, or run without JetStream, and
// answer pings all the same.
type Mover struct {
	bus    *Bus
	next   time.Time
	every  time.Duration
	denied map[string]bool // the servers that say that they have no JetStream
}

const (
	moveFirst = 5 * time.Second
	moveMost  = time.Minute
	moveSoon  = time.Second // from a server without JetStream, as long as there is another
)

// Mover makes one; the time runs.
func (b *Bus) Mover() *Mover {
	return &Mover{bus: b, next: time.Now().Add(moveFirst), every: moveFirst, denied: map[string]bool{}}
}

// Failed is called with the error of every failed try. It connects to the next server of those that
// are known, more and more rarely.
func (m *Mover) Failed(err error) {
	nc := m.bus.NC
	if at := nc.ConnectedUrl(); withoutJetStream(err) && !m.denied[at] {
		m.denied[at], m.next = true, time.Time{}
	}
	if err == nil || m.bus.server != nil || len(nc.Servers()) < 2 || !nc.IsConnected() || time.Now().Before(m.next) {
		return
	}
	if m.next.IsZero() {
		m.next = time.Now().Add(moveSoon)
	} else {
		m.every = min(2*m.every, moveMost)
		m.next = time.Now().Add(m.every)
	}
	m.bus.Log.Info().Str("server", redact(nc.ConnectedUrl())).Err(err).Msg("JetStream does not answer at this server of NATS; connecting to another")
	_ = nc.ForceReconnect() // fails only where the connection is closed
}

// others reports whether a server is left that has not said that it has no JetStream.
func (m *Mover) others() bool {
	nc := m.bus.NC
	return m.bus.server == nil && len(m.denied) < len(nc.Servers())
}

// withoutJetStream reports whether a server runs without JetStream, which other servers of its cluster
// may have. Where it is the account that has none, no server has it for that.
func withoutJetStream(err error) bool {
	return errors.Is(err, ErrNoJetStream) && errors.Is(err, jetstream.ErrJetStreamNotEnabled)
}

const (
	answersEvery  = 2 * time.Second
	answersWithin = 2 * time.Second
)

// KeepAnswered connects to another server of NATS when JetStream does not answer at the one that the
// Bus is connected to, until ctx ends.
func (b *Bus) KeepAnswered(ctx context.Context) error {
	if b.server != nil {
		return nil
	}
	tick := time.NewTicker(answersEvery)
	defer tick.Stop()
	var mover *Mover
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(ctx, answersWithin)
		err := b.Healthy(asking)
		cancel()
		switch {
		case err == nil:
			mover = nil
			continue
		case mover == nil:
			mover = b.Mover()
		}
		mover.Failed(err)
	}
}
