package bus

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// A connWatch logs what becomes of a connection, and remembers why the last
// attempt to connect failed. It logs no flood, whatever the connection does.
type connWatch struct {
	log    zerolog.Logger
	errs   zerolog.Logger // apart, so that a flood of errors hides no loss of the connection
	closed chan struct{}  // closed with the connection
	reason atomic.Pointer[error]
	denied atomic.Pointer[error] // the last permission that the server has refused
	inbox  inboxWatch
}

func newConnWatch(log zerolog.Logger) *connWatch {
	return &connWatch{log: Few(log), errs: Few(log), closed: make(chan struct{})}
}

// Few is log for what may happen to any number of things at once.
func Few(log zerolog.Logger) zerolog.Logger {
	return log.Sample(&zerolog.BurstSampler{Burst: 10, Period: 10 * time.Second})
}

func (w *connWatch) options() []nats.Option {
	return []nats.Option{
		nats.ClosedHandler(func(*nats.Conn) { close(w.closed) }),
		nats.ConnectHandler(func(nc *nats.Conn) {
			w.log.Info().Str("server", redact(nc.ConnectedUrl())).Msg("NATS connected")
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			w.log.Warn().Str("server", redact(nc.ConnectedUrl())).Msg("NATS connected again")
		}),
		nats.DisconnectErrHandler(w.disconnected),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { w.reason.Store(&err) }),
		nats.ErrorHandler(w.failed),
	}
}

func (w *connWatch) disconnected(nc *nats.Conn, err error) {
	if nc.IsClosed() || nc.IsDraining() {
		return // we did it
	}
	w.log.Warn().Err(err).Msg("NATS connection lost; connecting again until it is back")
}

func (w *connWatch) failed(nc *nats.Conn, sub *nats.Subscription, err error) {
	w.inbox.failed(nc, err)
	line := w.errs.Warn().Err(err)
	if sub != nil {
		line = line.Str("subject", sub.Subject)
	}
	if errors.Is(err, nats.ErrPermissionViolation) {
		w.denied.Store(&err)
		line.Msg("NATS refuses a permission; " + permissionsHint)
		return
	}
	line.Msg("NATS reports an error")
}

// permissionsHint is the cure where NATS refuses a permission: a new version may need more of them.
const permissionsHint = "give this user what this version needs: agenthost nats-permissions --for host"

// Denied is the permission that NATS has refused this connection last, with the cure; nil: none. A
// request that is refused gets no answer, so that who waits for one has to be told by this.
func (b *Bus) Denied() error {
	if err := b.watch.denied.Load(); err != nil {
		return fmt.Errorf("%w: %s", *err, permissionsHint)
	}
	return nil
}

// lastError is why nc is not connected, as far as is known.
func (w *connWatch) lastError(nc *nats.Conn) error {
	if err := nc.LastError(); err != nil {
		return err
	}
	if err := w.reason.Load(); err != nil {
		return *err
	}
	return nats.ErrNoServers
}
