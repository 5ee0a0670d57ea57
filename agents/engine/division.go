package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A division hands on what comes to an agent to its partitions, once, and in the order of
// each session. All hosts of the fleet agree on the number of partitions by a record. When
// that changes, a session moves to its new partition once the old one has done all that it
// was given: so its order holds, and nothing is worked on in two places.
type division struct {
	whole *Runtime

	// handing is held for reading while something is handed on by the layout of the
	// moment, and for writing while that changes.
	handing sync.RWMutex

	mu         sync.Mutex
	running    running
	partitions []*Runtime
	queues     map[session.Key][]*message.Item // to be handed on; the first of each is at it
	layout     layout
	revision   uint64         // of the record
	known      bool           // the record was read since the agent's lane has come here
	targets    map[int]uint64 // up to where each former partition is to be done; those that are not yet
	settling   bool           // a goroutine is at it
	changed    chan struct{}  // closed when a session that waits may go on
}

// A layout says how an agent is divided.
type layout struct {
	Generation int `json:"generation"`
	// Partitions is how many there are, 0 where the agent is not divided; Former how many
	// there were before.
	Partitions int `json:"partitions"`
	Former     int `json:"former"`
	// Settled says that the former ones have done all that they were given.
	Settled bool `json:"settled"`
}

// undivided is the layout of an agent that was never divided.
var undivided = layout{Settled: true}

const (
	// settleEvery is how often former partitions are looked at.
	settleEvery = 250 * time.Millisecond
	settleTry   = 5 * time.Second
)

// divide makes the division of an agent, unless it has one, with at least n partitions.
func (r *Runtime) divide(n int) *division {
	r.mu.Lock()
	d := r.division.Load()
	if d == nil {
		d = &division{whole: r, queues: map[session.Key][]*message.Item{}, layout: undivided, changed: make(chan struct{})}
		d.running.begun = make(chan struct{})
		if r.begun {
			close(d.running.begun)
		}
		r.division.Store(d)
	}
	r.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.partitions) < n {
		d.partitions = append(d.partitions, r.newPartition(n))
	}
	return d
}

// Divided takes in what the hosts of the fleet have agreed on.
func (r *Runtime) Divided(revision uint64, data []byte) {
	l, err := readLayout(data)
	if err != nil {
		r.agent.Log().Error().Err(err).Msg("partitions: the record cannot be read")
		return
	}
	r.divide(max(l.Partitions, l.Former)).learn(revision, l)
}

func readLayout(data []byte) (l layout, err error) {
	if err := json.Unmarshal(data, &l); err != nil {
		return undivided, err
	}
	if l.Partitions < 0 || l.Former < 0 || max(l.Partitions, l.Former) > mostPartitions {
		return undivided, fmt.Errorf("%d partitions, %d before", l.Partitions, l.Former)
	}
	return l, nil
}

// mostPartitions bounds what a record may ask for.
const mostPartitions = 1024

// learn goes over to a layout, unless a newer one is known.
func (d *division) learn(revision uint64, l layout) {
	d.handing.Lock()
	defer d.handing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if revision <= d.revision {
		return
	}
	d.take(revision, l)
}

// take is called with both locks held.
func (d *division) take(revision uint64, l layout) {
	if l.Generation != d.layout.Generation {
		d.targets = nil
		d.whole.owners.Add(1) // another partition may have written to what is in memory
		for _, p := range d.partitions {
			p.owners.Add(1)
		}
	}
	d.revision, d.layout = revision, l
	d.notify()
}

// notify is called with the lock held.
func (d *division) notify() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// forget has the record read again: another host has served the agent since.
func (d *division) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.targets = false, nil
	d.notify()
}

// wake has what waits look again.
func (d *division) wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notify()
}

// bring brings an input to its session, here or in a partition.
func (r *Runtime) bring(it *message.Item, key session.Key) {
	if d := r.division.Load(); d != nil && r.whole == nil && key != message.HeartbeatKey {
		d.hand(it, key)
		return
	}
	r.push(it, key)
}

// push queues an input with its conversation.
func (r *Runtime) push(it *message.Item, key session.Key) {
	entry := r.sessions.Acquire(key)
	entry.Value.push(it, entry)
}

func (d *division) hand(it *message.Item, key session.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues[key] = append(d.queues[key], it)
	if len(d.queues[key]) == 1 {
		d.whole.busy.Go(func() { d.work(key) })
	}
}

// work hands on what waits of a session, one after the other.
func (d *division) work(key session.Key) {
	for {
		d.mu.Lock()
		it := d.queues[key][0]
		d.mu.Unlock()
		d.handOn(it, key)
		d.mu.Lock()
		d.queues[key] = slices.Delete(d.queues[key], 0, 1)
		end := len(d.queues[key]) == 0
		if end {
			delete(d.queues, key)
		}
		d.mu.Unlock()
		if end {
			return
		}
	}
}

// handOn hands on one input. What cannot be is left to the next owner of the lane.
func (d *division) handOn(it *message.Item, key session.Key) {
	number, generation, ok := d.place(key)
	if !ok {
		it.Delivery.Leave()
		return
	}
	defer d.handing.RUnlock()
	if number < 0 {
		d.whole.push(it, key)
		return
	}
	from := it.Delivery
	id := fmt.Sprintf("part.%s.%d.%s.%d", d.whole.id, generation, from.Stream(), from.Seq)
	msg, err := from.HandOn(bus.PartSubject(d.whole.id, number), id, it.NotBefore)
	if err == nil && msg.Size() > d.whole.parts.MaxPayload {
		err = fmt.Errorf("%d bytes with what is added, NATS takes %d", msg.Size(), d.whole.parts.MaxPayload)
	}
	if err != nil {
		d.whole.parts.Few.Warn().Err(err).Str("agent", d.whole.id).Msg("hand message on to its partition: not possible; it is answered here")
		d.whole.push(it, key)
		return
	}
	stored := make(chan error, 1)
	d.whole.parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) { stored <- err })
	if <-stored != nil { // the host stops
		from.Leave()
		return
	}
	from.Done()
}

// place waits until a session may go on, and says where: the number of its partition, or
// -1 for the agent itself. If ok, the caller lets go of handing.
func (d *division) place(key session.Key) (number, generation int, ok bool) {
	for {
		d.handing.RLock()
		d.mu.Lock()
		number, generation, wait := d.placeNow(key)
		changed := d.changed
		d.mu.Unlock()
		if !wait && !d.whole.yields() {
			return number, generation, true
		}
		d.handing.RUnlock()
		if d.whole.yields() {
			return 0, 0, false
		}
		select {
		case <-changed:
		case <-d.whole.agent.Work.Done():
			return 0, 0, false
		}
	}
}

// placeNow is called with the lock held.
func (d *division) placeNow(key session.Key) (number, generation int, wait bool) {
	l := d.layout
	if !d.known || !l.Settled || l.Partitions != d.wanted() {
		if !d.settling {
			d.settling = true
			d.whole.busy.Go(d.settle)
		}
		if !d.known || l.Settled {
			return 0, 0, true
		}
	}
	number, before := partitionOf(key, l.Partitions), partitionOf(key, l.Former)
	switch {
	case l.Settled, number == before:
		return number, l.Generation, false
	case before < 0:
		return number, l.Generation, d.whole.worksOn(key)
	case d.targets == nil:
		return 0, 0, true
	}
	_, busy := d.targets[before]
	return number, l.Generation, busy
}

// wanted is how many partitions the agent is to have.
func (d *division) wanted() int { return d.whole.now().Config.Partitions }

// worksOn reports whether the agent itself is at work in a session, here or where its
// lane was before.
func (r *Runtime) worksOn(key session.Key) bool {
	if r.parts.Finishing.Has(r.id, string(key)) {
		return true
	}
	entry, ok := r.sessions.Get(key)
	if !ok {
		return false
	}
	c := entry.Value
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entry != nil
}

// settle reads the record, has it say what is wanted, and sees former partitions through,
// until there is nothing of that to do.
func (d *division) settle() {
	for {
		ctx, cancel := context.WithTimeout(d.whole.agent.Work, settleTry)
		done, err := d.settleOnce(ctx)
		cancel()
		if err != nil && d.whole.agent.Work.Err() == nil {
			d.whole.parts.Few.Warn().Err(err).Str("agent", d.whole.id).Msg("change partitions: failed; trying again")
		}
		d.mu.Lock()
		if done = done || d.whole.yields(); done {
			d.settling = false
		}
		d.notify()
		d.mu.Unlock()
		if done {
			return
		}
		bus.Pause(d.whole.agent.Work, settleEvery)
	}
}

func (d *division) settleOnce(ctx context.Context) (done bool, err error) {
	d.mu.Lock()
	known, l := d.known, d.layout
	d.mu.Unlock()
	switch {
	case !known:
		return false, d.read(ctx)
	case !l.Settled:
		settled, err := d.formerDone(ctx, l)
		if err != nil || !settled {
			return false, err
		}
		l.Settled = true
		return false, d.write(ctx, l)
	case l.Partitions != d.wanted():
		next := layout{Generation: l.Generation + 1, Partitions: d.wanted(), Former: l.Partitions}
		d.whole.agent.Log().Info().Int("partitions", next.Partitions).Int("before", next.Former).
			Msg("partitions change: sessions move as the former ones have done what they were given")
		return false, d.write(ctx, next)
	}
	return true, nil
}

// read reads the record.
func (d *division) read(ctx context.Context) error {
	l, revision := undivided, uint64(0)
	switch entry, err := d.whole.parts.Reader.Entry(ctx, bus.LanesBucket, lanes.LayoutKey(d.whole.id)); {
	case err == nil:
		if l, err = readLayout(entry.Data); err != nil {
			return err
		}
		revision = entry.Seq
	case !errors.Is(err, records.ErrNotFound):
		return err
	}
	d.handing.Lock()
	defer d.handing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = true
	if revision >= d.revision {
		d.take(revision, l)
	}
	return nil
}

// write changes the record, unless another host has. Nothing is handed on meanwhile.
func (d *division) write(ctx context.Context, l layout) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	kv, err := d.whole.parts.JS.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return err
	}
	d.handing.Lock()
	defer d.handing.Unlock()
	d.mu.Lock()
	before := d.revision
	d.known = false // whatever comes of it
	d.mu.Unlock()
	revision, err := kv.Update(ctx, lanes.LayoutKey(d.whole.id), data, before)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known = revision > d.revision; d.known {
		d.take(revision, l)
	}
	return nil
}

// formerDone reports whether the former partitions have done all that they were given.
func (d *division) formerDone(ctx context.Context, l layout) (bool, error) {
	if l.Former == 0 {
		keys := slices.DeleteFunc(d.whole.Unfinished(), func(key string) bool { return key == string(message.HeartbeatKey) })
		return len(keys) == 0 && !d.whole.parts.Finishing.HasAny(d.whole.id), nil
	}
	targets, err := d.formerTargets(ctx, l)
	if err != nil {
		return false, err
	}
	for number, target := range targets {
		done, err := d.isDone(ctx, number, target)
		if err != nil {
			return false, err
		}
		if done {
			d.mu.Lock()
			delete(d.targets, number)
			d.notify()
			d.mu.Unlock()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.targets != nil && len(d.targets) == 0, nil
}

// formerTargets are up to where each former partition that is not done is to be, from the
// first look on: what is handed on now goes elsewhere.
func (d *division) formerTargets(ctx context.Context, l layout) (map[int]uint64, error) {
	d.mu.Lock()
	targets := maps.Clone(d.targets)
	d.mu.Unlock()
	if targets != nil {
		return targets, nil
	}
	targets = map[int]uint64{}
	for number := range l.Former {
		last, err := d.whole.parts.Reader.Last(ctx, bus.RoutesStream, bus.PartSubject(d.whole.id, number))
		switch {
		case err == nil:
			targets[number] = last.Seq
		case !errors.Is(err, records.ErrNotFound):
			return nil, fmt.Errorf("last message of partition %d: %w", number, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.layout.Generation == l.Generation && d.known {
		d.targets = maps.Clone(targets)
	}
	return targets, nil
}

// isDone reports whether a partition has done all up to a message.
func (d *division) isDone(ctx context.Context, number int, target uint64) (bool, error) {
	consumer, err := d.whole.parts.JS.Consumer(ctx, bus.RoutesStream, lanes.PartitionLane(d.whole.id, number))
	if errors.Is(err, jetstream.ErrConsumerNotFound) { // its hosts are about to make it
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up the lane of partition %s: %w", strconv.Itoa(number), err)
	}
	info := consumer.CachedInfo()
	return info.AckFloor.Stream >= target || info.NumPending == 0 && info.NumAckPending == 0, nil
}
