package delivery

import "context"

// Ask has the lane ask for messages, as it does from the start, or not: then another
// host is to serve it. It returns at once; see Asks.
func (l *Lane) Ask(on bool) {
	if l.idle.Swap(!on) == !on {
		return
	}
	select {
	case l.turned <- struct{}{}:
	default:
	}
}

// Asks reports whether the lane asks the server for messages. Once it does not, all
// that has come is handed out.
func (l *Lane) Asks() bool { return l.asks.Load() }

// rests waits while the lane is not to ask, and reports whether it has waited. Before
// that the consumer is made, once: the lane counts as up.
func (l *Lane) rests(ctx context.Context) bool {
	if !l.idle.Load() {
		return false
	}
	select {
	case <-l.up:
	default:
		if _, err := l.ensure(ctx); err != nil {
			return false // serve says so, and is tried again
		}
		l.once.Do(func() { close(l.up) })
	}
	for l.idle.Load() {
		select {
		case <-l.turned:
		case <-ctx.Done():
			return true
		}
	}
	return true
}
