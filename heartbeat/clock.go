package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// A clock is that of NATS, which fires what is due: a host whose own clock is ahead would
// take firings for missed that are yet to come, and leave them out for the whole fleet. Between
// two readings it goes by the monotonic clock, which a change of the host's time leaves alone.
type clock struct {
	js jetstream.JetStream

	mu     sync.Mutex
	server time.Time // by NATS
	read   time.Time // by this host, when that was read
	// What the readings have found since changed was called.
	found found
	// created and last are of the stream that is read, when it was made and its last message.
	created time.Time
	last    uint64
}

// What readings of a clock may find.
type found struct {
	set     bool // the clock was set, or this machine has slept
	emptied bool // what the stream of schedules held is gone, though it may have fired
}

// clockFor is how long a reading is good for.
const clockFor = time.Minute

// now is the time. It asks NATS when the last reading is old, and does with that one when
// NATS is away.
func (c *clock) now(ctx context.Context) (time.Time, error) {
	if now, age := c.told(); !now.IsZero() && age < clockFor {
		return now, nil
	}
	err := c.ask(ctx)
	now, _ := c.told()
	if now.IsZero() {
		return now, fmt.Errorf("ask NATS for the time: %w", err)
	}
	return now, nil
}

// told is the time by the last reading, which is so old; zero while there has been none that
// holds.
func (c *clock) told() (now time.Time, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	here := time.Now()
	age = here.Sub(c.read)
	if c.read.IsZero() || slept(age, here.Round(0).Sub(c.read.Round(0))) {
		return time.Time{}, 0
	}
	return c.server.Add(age), age
}

// slept reports whether the machine may have slept, during which its monotonic clock stands
// still: the other one has gone on by more.
func slept(monotonic, wall time.Duration) bool { return wall-monotonic > tryAgain }

// ask reads the clock of NATS.
func (c *clock) ask(ctx context.Context) error {
	asked := time.Now()
	stream, err := c.js.Stream(ctx, bus.SchedulesStream)
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	server := info.TimeStamp
	if server.IsZero() {
		return errors.New("the answer has no time")
	}
	before, _ := c.told()
	c.mu.Lock()
	defer c.mu.Unlock()
	known := !c.read.IsZero()
	c.server, c.read = server, asked.Add(time.Since(asked)/2)
	if off := c.server.Add(time.Since(c.read)).Sub(before); known && off.Abs() > tryAgain {
		c.found.set = true
	}
	if known && (!info.Created.Equal(c.created) || info.State.FirstSeq > c.last) {
		c.found.emptied = true
	}
	c.created, c.last = info.Created, info.State.LastSeq
	return nil
}

// changed is what readings have found, once.
func (c *clock) changed() found {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.found
	c.found = found{}
	return f
}

// soon is the time without waiting for NATS: by the host's own clock while there was no reading.
func (c *clock) soon() time.Time {
	if now, _ := c.told(); !now.IsZero() {
		return now
	}
	return time.Now()
}

// follow reads the clock again and again, until ctx ends. It calls changed, if there is one, with
// what it finds.
func (c *clock) follow(ctx context.Context, changed func(found)) {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, keepWithin)
		err := c.ask(within)
		cancel()
		if f := c.changed(); changed != nil && f != (found{}) {
			changed(f)
		}
		wait := clockFor
		if err != nil {
			wait = tryAgain
		}
		bus.Pause(ctx, wait)
	}
}
