package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"agenthost/bus"
	"agenthost/bus/records"
)

// fire does what the server has not done at its time, with a firing that it holds under a
// sequence. What the server does nevertheless has the same id.
func (k *Keeper) fire(ctx context.Context, e Entry, seq uint64) error {
	msg, err := bus.NewMessage(bus.DuePrefix+e.Agent, e.route())
	if err != nil {
		return err
	}
	msg.Header.Set(nats.MsgIdHdr, e.Agent+":"+e.firingID()) // all hosts do it
	if _, err := k.Publisher.PublishWait(ctx, msg); err != nil {
		return err
	}
	k.Log.Info().Str("agent", e.Agent).Str("schedule", e.Name).Time("due", e.Next).
		Msg("fire schedule: NATS has not, as when its machine has slept")
	stream, err := k.JS.Stream(ctx, bus.SchedulesStream)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(e.Subject()), jetstream.WithPurgeSequence(seq+1))
}

// held is the firing that the server holds of an entry; zero: it holds no firing of it.
type held struct {
	bus.Route
	seq  uint64
	data string
}

func (k *Keeper) holds(ctx context.Context, e Entry) (held, error) {
	rec, err := k.Reader.Last(ctx, bus.SchedulesStream, e.Subject())
	if errors.Is(err, records.ErrNotFound) {
		return held{}, nil
	}
	if err != nil {
		return held{}, err
	}
	h := held{seq: rec.Seq, data: string(rec.Data)}
	if err := json.Unmarshal(rec.Data, &h.Route); err != nil {
		h.Route = bus.Route{} // not written by a host: it is replaced
	}
	return h, nil
}

// arm has the server hold the next firing. It does not replace one that is due
// and has not fired: then armed is false, and it is for later.
func (k *Keeper) arm(ctx context.Context, e Entry, now time.Time) (armed bool, err error) {
	msg, err := e.message()
	if err != nil {
		return false, err
	}
	h, err := k.holds(ctx, e)
	switch {
	case err != nil:
		return false, err
	case h.data == string(msg.Data):
		return k.confirm(ctx, e, h.seq)
	case h.seq != 0 && h.ID != e.firingID() && !h.Due.IsZero() && !h.Due.After(now):
		return false, nil
	}
	msg.Header.Set(nats.ExpectedLastSubjSeqHdr, fmt.Sprint(h.seq))
	seq, err := k.Publisher.PublishWait(ctx, msg)
	switch {
	case bus.Refused(err): // another host did it, or it is what was sent twice
		return false, nil
	case err != nil:
		return false, err
	}
	return k.confirm(ctx, e, seq)
}

// confirm takes a firing back that the server holds under a sequence of an entry that is gone: who
// cancels it may have looked before the firing was there.
func (k *Keeper) confirm(ctx context.Context, e Entry, seq uint64) (armed bool, err error) {
	_, err = k.Reader.Entry(ctx, bus.SchedulesBucket, e.Key())
	switch {
	case lost(err): // it is put back when it has fired
		return true, nil
	case !errors.Is(err, records.ErrDeleted):
		return err == nil, err
	}
	stream, err := k.JS.Stream(ctx, bus.SchedulesStream)
	if err != nil {
		return false, err
	}
	return false, stream.Purge(ctx, jetstream.WithPurgeSubject(e.Subject()), jetstream.WithPurgeSequence(seq+1))
}
