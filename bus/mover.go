package bus

import "time"

// A Mover has a start that NATS does not answer ask other servers of it: the one that it is connected
// to may be cut off from the others of its cluster, or far behind them, and answer pings all the same.
type Mover struct {
	bus   *Bus
	next  time.Time
	every time.Duration
}

const (
	moveFirst = 5 * time.Second
	moveMost  = time.Minute
)

// Mover makes one; the time runs.
func (b *Bus) Mover() *Mover {
	return &Mover{b, time.Now().Add(moveFirst), moveFirst}
}

// Failed is called with every failed try. It connects to the next server of those that are known, more
// and more rarely.
func (m *Mover) Failed() {
	nc := m.bus.NC
	if time.Now().Before(m.next) || m.bus.server != nil || len(nc.Servers()) < 2 || !nc.IsConnected() {
		return
	}
	m.every = min(2*m.every, moveMost)
	m.next = time.Now().Add(m.every)
	m.bus.Log.Info().Str("server", redact(nc.ConnectedUrl())).Msg("NATS does not answer there; asking another of its servers")
	_ = nc.ForceReconnect() // fails only where the connection is closed
}
