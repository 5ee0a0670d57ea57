package intake

import (
	"context"
	"errors"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"
)

// forged drops a deadline that does not come from the clock: any program may
// publish where it came, and only hosts set deadlines.
func (i *Intake) forged(it *message.Item) {
	route := it.Origin.Route
	i.log().Warn().Str("subject", it.Origin.Subject).Str("correlation_id", route.CorrelationID).Str("from", route.From).
		Msg("refuse result: only schedules of hosts send deadlines")
	i.Parts.Tell(route, errNotTheClock)
	it.Delivery.Done()
}

// errForeign tells a program that it is neither an agent nor the operator.
var errForeign = errors.New("a program cannot answer here: results of agents and answers of people come from hosts; for an answer ask the service on agenthost.approve")

// foreign drops a result that no host has sent.
func (i *Intake) foreign(it *message.Item) {
	route := it.Origin.Route
	i.log().Warn().Str("subject", it.Origin.Subject).Str("from", route.From).Str("correlation_id", route.CorrelationID).
		Msg("drop result: it is not signed by a host of the fleet")
	i.Parts.Tell(route, errForeign)
	it.Delivery.Done()
}

// Late drops an answer that nothing waits for: the run that asked has given up.
func (i *Intake) Late(it *message.Item) {
	route := it.Origin.Route
	i.log().Info().Str("from", route.From).Str("correlation_id", route.CorrelationID).Msg("late result dropped")
	if route.From != ask.FromDeadline {
		i.Parts.Tell(route, ask.ErrNotWaiting)
	}
	if _, _, ok := ask.SplitID(route.CorrelationID); ok {
		i.Parts.Asks.Delete(route.CorrelationID) // it may have been left behind
	}
	it.Delivery.Done()
}

// Taken is done with an answer that has come again after it was taken.
func (i *Intake) Taken(it *message.Item) {
	i.Parts.Tell(it.Origin.Route, nil)
	it.Delivery.Done()
}

// Session is the key of the session that a result is for, which its correlation id names;
// ok is false when there is none, and the result is dealt with.
func (i *Intake) Session(work context.Context, it *message.Item) (key session.Key, ok bool) {
	id := it.Origin.Route.CorrelationID
	if it.Origin.Route.From == ask.FromDeadline && !it.Origin.Due() {
		i.forged(it)
		return "", false
	}
	if !it.Signed {
		i.foreign(it)
		return "", false
	}
	agent, sid, ok := ask.SplitID(id)
	if !ok || agent != i.Agent {
		i.Late(it)
		return "", false
	}
	key, err := i.keyOf(work, it, sid)
	switch {
	case errors.Is(err, records.ErrNotFound):
		i.Late(it)
	case err != nil:
		i.log().Warn().Err(err).Str("correlation_id", id).Msg("an answer cannot be brought to its session; it will come again")
		it.Delivery.Leave()
	}
	return key, err == nil
}

// keyOf finds the key of the session that an answer is for: in its header, where a host
// has put it that knew it, in what is known to wait, else in the log.
func (i *Intake) keyOf(work context.Context, it *message.Item, sid string) (session.Key, error) {
	if key := session.Key(it.Delivery.Header().Get(bus.SessionKeyHeader)); session.SID(i.Agent, key) == sid {
		return key, nil
	}
	if key, ok := i.Parts.Asks.Open.Session(it.Origin.Route.CorrelationID); ok {
		return key, nil
	}
	ctx, cancel := context.WithTimeout(work, 10*time.Second)
	defer cancel()
	return i.Parts.Store.KeyOf(ctx, i.Agent, sid)
}

var errNotTheClock = errors.New("only the host sends deadlines; answer under another name in from")
