package doors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/client"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	// recently is how long the last messages are known without a look at the log.
	recently   = 10 * time.Minute
	mostRecent = 10_000
)

// A Desk is one door. It is safe for concurrent use.
type Desk struct {
	client *client.Client
	door   string
	log    zerolog.Logger
	ready  chan struct{} // closed once nothing is missed any more

	mu     sync.Mutex
	open   map[string]map[*Exchange]bool // by session
	idle   chan struct{}                 // closed when open is empty, for Idle; nil: none waits
	recent map[string]ended              // by session and id of the message
}

// ended is a message that has its final reply.
type ended struct {
	out bus.Outbound
	at  time.Time
}

// NewDesk makes the desk of a door: one of bus.Doors.
func NewDesk(c *client.Client, door string, log zerolog.Logger) *Desk {
	return &Desk{
		client: c, door: door, log: log.With().Str("door", door).Logger(), ready: make(chan struct{}),
		open: map[string]map[*Exchange]bool{}, recent: map[string]ended{},
	}
}

// Client is the one by which the desk reaches the fleet.
func (d *Desk) Client() *client.Client { return d.client }

// Door is its name.
func (d *Desk) Door() string { return d.door }

// Key is the key of a session, as in logs and events.
func (d *Desk) Key(p Place) string { return string(p.key(d.door)) }

// Run follows what agents say at the door until ctx ends. What breaks is begun again
// behind what came last.
func (d *Desk) Run(ctx context.Context) error {
	caughtUp := sync.OnceFunc(func() { close(d.ready) })
	subject := bus.OutboundPrefix + d.door
	return records.FollowStream(ctx, d.client.JetStream(), records.Following{
		Stream: bus.OutboundStream, Subjects: []string{subject, subject + ".>"}, Since: time.Now().Add(-recently),
		Patient: true, Log: d.log,
		Began: func(_, pending uint64) {
			if pending == 0 {
				caughtUp()
			}
		},
		Take: func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
			var out bus.Outbound
			if json.Unmarshal(msg.Data(), &out) == nil {
				d.take(out, meta.Timestamp)
			}
			if meta.NumPending == 0 {
				caughtUp()
			}
			return nil
		},
	})
}

// Open is how many wait at the door for what comes of a message.
func (d *Desk) Open() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, exchanges := range d.open {
		n += len(exchanges)
	}
	return n
}

// Idle waits until Open is zero, or ctx ends.
func (d *Desk) Idle(ctx context.Context) {
	for {
		d.mu.Lock()
		if len(d.open) == 0 {
			d.mu.Unlock()
			return
		}
		if d.idle == nil {
			d.idle = make(chan struct{})
		}
		idle := d.idle
		d.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return
		}
	}
}

// take hands what an agent says to those who wait in its session.
func (d *Desk) take(out bus.Outbound, at time.Time) {
	session := out.Agent + "/" + out.Session
	d.mu.Lock()
	defer d.mu.Unlock()
	if out.Final {
		d.forget(at)
		for _, id := range append([]string{out.InReplyTo}, out.Merged...) {
			d.recent[session+"\x00"+id] = ended{out, at}
		}
	}
	for e := range d.open[session] {
		e.push(out)
	}
}

// forget drops the old ends, once there are many.
func (d *Desk) forget(now time.Time) {
	if len(d.recent) < mostRecent {
		return
	}
	var ages []time.Duration
	for _, e := range d.recent {
		ages = append(ages, now.Sub(e.at))
	}
	slices.Sort(ages)
	limit := min(recently, ages[len(ages)/2])
	for key, e := range d.recent {
		if now.Sub(e.at) >= limit {
			delete(d.recent, key)
		}
	}
}

// An Agent is one that a door lists.
type Agent struct{ ID, Description string }

// Agents are those of the fleet that are reached by the door, in the order of their
// ids.
func (d *Desk) Agents(ctx context.Context) ([]Agent, error) {
	fleet, err := d.client.EveryHost(ctx)
	if err != nil && !errors.Is(err, client.ErrNoHost) {
		return nil, err
	}
	list := []Agent{}
	for _, a := range fleet.Served() {
		if a.ShadowOf == "" && (a.Doors == nil || slices.Contains(a.Doors, d.door)) {
			list = append(list, Agent{ID: a.ID, Description: a.Description})
		}
	}
	slices.SortFunc(list, func(a, b Agent) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}
