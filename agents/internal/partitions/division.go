// Package partitions divides the sessions of an agent among its partitions: each has a lane
// of its own, which any host of the fleet may serve. The host that has the agent's lane hands
// on each message to the partition of its session.
package partitions

import (
	"errors"
	"fmt"
	"sync"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/session"
)

// A Division hands the messages of an agent on to its partitions, once, and in the order of
// each session. All hosts of the fleet agree on the number of partitions by a record. When
// that changes, a session moves to its new partition once the old one has done all that it
// was given: so its order holds, and nothing is worked on in two places.
type Division struct {
	agent *inflight.Agent
	busy  *sync.WaitGroup // what keeps the agent from its end
	whole Whole

	// handing is held for reading while something is handed on by the layout of the
	// moment, and for writing while that changes.
	handing handingLock

	mu       sync.Mutex
	queues   map[session.Key]*queue // to be handed on
	layout   Layout
	revision uint64         // of the record
	known    bool           // the record was read since the agent's lane has come here
	targets  map[int]uint64 // the last message of each former partition that is not done yet
	least    int            // the generation of what another host has handed on
	settling bool           // settle runs
	looking  bool           // what waits for the agent itself has settle look once more
	fences   map[int]*fence // of the partitions
	changed  chan struct{}  // closed when a session that waits may go on
}

// Whole is the agent that is divided, as far as it works on sessions itself.
type Whole interface {
	// Push queues an input with its session in the agent itself.
	Push(it *message.Item, key session.Key)
	// Busy reports whether there is anything to do in a session of the agent itself.
	Busy(key session.Key) bool
	// Unfinished are the sessions of which Busy is true.
	Unfinished() []string
	// Yields reports whether nothing is to begin.
	Yields() bool
	// Reread has the logs that are open read again, in the agent and its partitions.
	Reread()
}

// New makes the division of an agent. What it has to do it adds to busy.
func New(agent *inflight.Agent, busy *sync.WaitGroup, whole Whole) *Division {
	return &Division{
		agent: agent, busy: busy, whole: whole,
		queues: map[session.Key]*queue{}, layout: undivided, changed: make(chan struct{}), fences: map[int]*fence{},
	}
}

// Learn goes over to a layout, unless a newer one is known.
func (d *Division) Learn(revision uint64, l Layout) {
	d.mu.Lock()
	known := revision <= d.revision
	d.mu.Unlock()
	if known {
		return
	}
	d.handing.Lock()
	defer d.handing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if revision <= d.revision {
		return
	}
	d.take(revision, l)
}

// Former reports whether there was a partition of a number before that has nothing more to do.
func (d *Division) Former(number int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.layout.Settled && number >= d.layout.Partitions
}

// take is called with both locks held.
func (d *Division) take(revision uint64, l Layout) {
	if l.Generation != d.layout.Generation {
		d.targets = nil
		d.whole.Reread() // another partition may have written to what is in memory
	}
	d.revision, d.layout = revision, l
	d.notify()
}

// notify is called with the lock held.
func (d *Division) notify() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Forget has the record read again: another host has served the agent since.
func (d *Division) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.targets = false, nil
	d.notify()
}

// Wake has what waits look again.
func (d *Division) Wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notify()
}

// Hand brings an input to its session, here or in a partition, behind what came before.
func (d *Division) Hand(it *message.Item, key session.Key) {
	d.mu.Lock()
	if d.isErased(it, key) {
		d.mu.Unlock()
		it.Delivery.Done()
		return
	}
	defer d.mu.Unlock()
	q := d.queues[key]
	if q == nil {
		q = &queue{}
		d.queues[key] = q
		d.busy.Go(func() { d.work(key, q) })
	}
	q.insert(it)
}

// work hands on what waits of a session, one after the other.
func (d *Division) work(key session.Key, q *queue) {
	for {
		number, generation, ok := d.place(key)
		if !ok {
			d.leave(key)
			return
		}
		d.mu.Lock()
		it := q.begin()
		d.mu.Unlock()
		var err error
		if it != nil {
			err = d.bring(it, key, number, generation)
		}
		d.handing.RUnlock()
		if d.agent.Work.Err() != nil && err != nil { // the host stops
			d.leave(key)
			return
		}
		if err != nil && !errors.Is(err, errLaterLayout) {
			d.agent.Parts.Few.Warn().Err(err).Str("agent", d.agent.ID).Msg("hand message on to its partition: failed; trying again")
			bus.Pause(d.agent.Work, settleEvery)
		}
		d.mu.Lock()
		q.end(err == nil)
		over := len(q.items) == 0
		if over {
			delete(d.queues, key)
		}
		d.mu.Unlock()
		if over {
			return
		}
	}
}

// leave leaves all that waits of a session to the next owner of the lane: not even later
// messages go on, should this host have the lane again by now.
func (d *Division) leave(key session.Key) {
	d.mu.Lock()
	items := d.queues[key].items
	delete(d.queues, key)
	d.mu.Unlock()
	for _, it := range items {
		it.Delivery.Leave()
	}
}

// Gather brings what waits of a session, of what people have written up to a sequence, to the
// agent itself, which works on it: its log has a later message already, that would be
// answered first.
func (d *Division) Gather(key session.Key, upTo uint64) {
	d.mu.Lock()
	var items []*message.Item
	if q := d.queues[key]; q != nil {
		items = q.takeUpTo(upTo)
	}
	d.mu.Unlock()
	for _, it := range items {
		if !it.Delivery.LeaveIfLost() {
			d.whole.Push(it, key)
		}
	}
}

// bring brings an input to a partition, or to the agent itself.
func (d *Division) bring(it *message.Item, key session.Key, number, generation int) error {
	if it.Delivery.LeaveIfLost() {
		return nil
	}
	if number < 0 {
		d.whole.Push(it, key)
		return nil
	}
	from := it.Delivery
	msg, err := from.HandOn(bus.PartSubject(d.agent.ID, number), d.handedOnID(generation, from.Stream(), from.Seq), it.NotBefore, it.OnlyKnown)
	if err == nil && msg.Size()+sizeOfFence > d.agent.Parts.Payload() {
		err = fmt.Errorf("%d bytes with what is added, NATS takes %d", msg.Size()+sizeOfFence, d.agent.Parts.Payload())
	}
	if err != nil {
		d.answerHere(it, key, err)
		return nil
	}
	switch err := d.store(d.agent.Work, number, generation, msg); {
	case bus.Permanent(err): // its headers are too long with those that are added, say
		d.answerHere(it, key, err)
	case err != nil:
		return err
	default:
		from.Done()
	}
	return nil
}

// answerHere has the agent itself work on an input that cannot be handed on.
func (d *Division) answerHere(it *message.Item, key session.Key, err error) {
	d.agent.Parts.Few.Warn().Err(err).Str("agent", d.agent.ID).Msg("hand message on to its partition: not possible; it is answered here")
	d.whole.Push(it, key)
}

// place waits until a session may go on, and says where: the number of its partition, or
// -1 for the agent itself. If ok, the caller lets go of handing.
func (d *Division) place(key session.Key) (number, generation int, ok bool) {
	for {
		d.handing.RLock()
		d.mu.Lock()
		number, generation, wait := d.placeNow(key)
		changed := d.changed
		d.mu.Unlock()
		if !wait && !d.whole.Yields() {
			return number, generation, true
		}
		d.handing.RUnlock()
		if d.whole.Yields() {
			return 0, 0, false
		}
		select {
		case <-changed:
		case <-d.agent.Work.Done():
			return 0, 0, false
		}
	}
}

// placeNow is called with the lock held.
func (d *Division) placeNow(key session.Key) (number, generation int, wait bool) {
	l := d.layout
	outdated := !d.known || l.Generation < d.least
	if outdated || !l.Settled || l.Partitions != d.wanted() {
		d.beginToSettle()
		if outdated || l.Settled {
			return 0, 0, true
		}
	}
	number, before := Of(key, l.Partitions), Of(key, l.Former)
	switch {
	case l.Settled && number >= 0 && d.whole.Busy(key): // another host did not know of it
		d.looking = true
		d.beginToSettle()
		return 0, 0, true
	case l.Settled, number == before:
		return number, l.Generation, false
	case before < 0:
		return number, l.Generation, d.agent.Parts.Finishing.Has(d.agent.ID, string(key)) || d.whole.Busy(key)
	case d.targets == nil:
		return 0, 0, true
	}
	_, busy := d.targets[before]
	return number, l.Generation, busy
}

// beginToSettle has settle run. It is called with the lock held.
func (d *Division) beginToSettle() {
	if !d.settling {
		d.settling = true
		d.busy.Go(d.settle)
	}
}

// outdated says that a host has handed on by a layout that this one does not know.
func (d *Division) outdated(generation int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.least = max(d.least, generation)
	d.known = false
	d.notify()
}

// Agree has the hosts agree on the number of partitions that the agent is to have by now: what
// comes later finds them ready.
func (d *Division) Agree() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known || d.layout.Partitions != d.wanted() {
		d.beginToSettle()
	}
}

// wanted is how many partitions the agent is to have.
func (d *Division) wanted() int { return d.agent.Now().Config.Partitions }
