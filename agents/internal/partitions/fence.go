package partitions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
)

// A fence is what this host knows of the subject of one partition. Each message names the one
// before it there, and belongs to a layout. So a host that does not know yet that it has lost
// the agent's lane, or that the layout is another, is refused by NATS: it cannot hand
// anything on behind what the next owner has seen as the end of a former partition.
type fence struct {
	turn       chan struct{} // held while a message is written
	last       uint64        // the sequence of the newest message
	generation int           // of its layout
	known      bool          // last is what it was when this host wrote last
}

// errLaterLayout says that a partition has messages of a layout that this host does not know.
var errLaterLayout = errors.New("another host has changed the partitions")

// sizeOfFence is what a message has more by the header that names the one before it.
const sizeOfFence = len(nats.ExpectedLastSubjSeqHdr) + len(": 18446744073709551615\r\n")

// refusedPause is how long a host waits that was refused twice in a row.
const refusedPause = 20 * time.Millisecond

// fenceOf is that of a partition.
func (d *Division) fenceOf(number int) *fence {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fences[number]
	if f == nil {
		f = &fence{turn: make(chan struct{}, 1)}
		d.fences[number] = f
	}
	return f
}

// store stores a message in a partition, unless that has some of a later layout.
func (d *Division) store(ctx context.Context, number, generation int, msg *nats.Msg) error {
	return d.enter(ctx, number, func(f *fence) error {
		if f.generation > generation {
			return errLaterLayout
		}
		return d.writeNext(ctx, f, generation, msg)
	})
}

// seal closes a partition for all that knows an earlier layout only. What was handed on
// before has a sequence up to end.
func (d *Division) seal(ctx context.Context, number, generation int) (end uint64, err error) {
	err = d.enter(ctx, number, func(f *fence) error {
		switch {
		case f.generation > generation:
			return errLaterLayout
		case f.generation < generation:
			msg := delivery.Seal(bus.PartSubject(d.agent.ID, number), d.handedOnID(generation, "seal", uint64(number)))
			if err := d.writeNext(ctx, f, generation, msg); err != nil {
				return err
			}
		}
		end = f.last
		return nil
	})
	return end, err
}

// enter calls try, when its turn has come, with what the subject of a partition has: again
// for as long as NATS refuses what it writes.
func (d *Division) enter(ctx context.Context, number int, try func(*fence) error) error {
	f := d.fenceOf(number)
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.turn }()
	for refused := 0; ; refused++ {
		if refused > 1 {
			bus.Pause(ctx, refusedPause)
		}
		if !f.known {
			if err := d.look(ctx, number, f); err != nil {
				return err
			}
		}
		err := try(f)
		if errors.Is(err, errLaterLayout) {
			f.known = false
			d.outdated(f.generation)
		}
		if !bus.Refused(err) {
			return err
		}
	}
}

// look reads the newest message of a partition.
func (d *Division) look(ctx context.Context, number int, f *fence) error {
	switch last, err := d.agent.Parts.Reader.Last(ctx, bus.RoutesStream, bus.PartSubject(d.agent.ID, number)); {
	case err == nil:
		f.last, f.generation = last.Seq, d.generationOf(last.Header.Get(nats.MsgIdHdr))
	case errors.Is(err, records.ErrNotFound):
		f.last, f.generation = 0, 0
	default:
		return fmt.Errorf("last message of partition %d: %w", number, err)
	}
	f.known = true
	return nil
}

// writeNext stores a message behind the one that is known as the last.
func (d *Division) writeNext(ctx context.Context, f *fence, generation int, msg *nats.Msg) error {
	next := &nats.Msg{Subject: msg.Subject, Data: msg.Data, Header: maps.Clone(msg.Header)}
	next.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(f.last, 10))
	seq, err := d.agent.Parts.Publisher.PublishWait(ctx, next)
	f.known = err == nil
	if f.known {
		f.last, f.generation = max(f.last, seq), generation // an earlier one is that of a copy
	}
	return err
}

// handedOnID is the Nats-Msg-Id of what is handed on by a layout.
func (d *Division) handedOnID(generation int, what string, number uint64) string {
	return fmt.Sprintf("part.%s.%d.%s.%d", d.agent.ID, generation, what, number)
}

// generationOf is that of the layout by which a message was handed on; 0 for others.
func (d *Division) generationOf(id string) int {
	rest, ok := strings.CutPrefix(id, "part."+d.agent.ID+".")
	first, _, _ := strings.Cut(rest, ".")
	generation, err := strconv.Atoi(first)
	if !ok || err != nil {
		return 0
	}
	return max(generation, 0)
}
