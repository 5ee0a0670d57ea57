// Package delivery brings what streams keep to agents: by lanes, each a pinned
// consumer that one host of the fleet serves at a time, in the order of the stream.
// What is not acknowledged is delivered again, to this host or to the next.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// LaneConfig names a lane's consumer and says what it takes.
type LaneConfig struct {
	Stream  string
	Name    string   // the durable consumer
	Filters []string // subjects its agents are bound to, see Filters and Claim
	Host    string   // the name of this host in the fleet
	Brake   *Brake   // nil: none
	// Namesake reports whether another host of that name lives: what is noted of Host may be
	// about that one. Nil: none does.
	Namesake func() bool
	// HandedOn says that it brings what the lane of an agent has handed on: see HandedOn.
	HandedOn bool
}

// A Lane feeds the agents that share one pinned pull consumer. Of all hosts of
// a fleet one holds the pin and is served; the others wait for it. The pin is
// liveness only: a host that lost it unknowingly is stopped by the fence of the
// session logs, not by the lane.
//
// Deliveries come in stream order, from one goroutine. When the pin changes
// hands the consumer is reset first, so that what the former owner left
// unfinished comes again before anything newer; those deliveries are Tried.
type Lane struct {
	cfg     LaneConfig
	js      jetstream.JetStream
	log     zerolog.Logger
	few     zerolog.Logger // log for what each message may meet
	deliver func(*Delivery)
	gained  func(ctx context.Context, former string)

	claims   atomic.Pointer[[]string] // the filters as they are now
	ensuring chan struct{}            // a token: who has it may change the consumer

	owner    ownershipStore
	held     heldMessages
	progress progress
	coverage coverage
	lacking  string // what NATS has refused to set of the consumer; who has the token of ensuring touches it

	empty   sequences // in which a look has found no message of the lane
	trusted string    // the leader of the consumer with which the note was compared while no host had the lane

	// Only the goroutine of the consumer touches these.
	rested    *pulls // that asked before the lane was not to; they know the pin
	pin       string
	resetting bool
	ending    bool // it takes nothing more until it has asked again for messages
	resetAt   time.Time
	last      uint64 // the consumer's count of the last message that was taken, or outOfOrder
	tried     uint64 // up to here a former owner may have worked
	handed    uint64 // up to here the last owner has handed over
	doubted   uint64 // up to here an owner that did not let go may have worked, whatever the server says
	given     uint64 // the newest message that this lane gave to its agents

	latest atomic.Pointer[message] // that was received
	pinned atomic.Pointer[string]  // pin, for others
	since  atomic.Int64            // when this host got it, in Unix milliseconds
	lost   atomic.Int64            // when this host lost it, the last time
	idle   atomic.Bool             // it is not to ask for messages
	turned chan struct{}           // a token when idle has changed
	due    chan takeover           // the lane is to be taken over, by a reset
	asks   atomic.Bool             // the consumer is being asked
	up     chan struct{}           // closed when the consumer is being asked
	once   sync.Once
}

// Timing of a lane. An owner that is gone loses its pin after pinnedTTL, and
// what it held is delivered again after ackWait: the longer of the two is what
// a takeover takes. Both outlast a cut of five seconds.
//
// That nothing comes of a request, not even heartbeats, is noticed after pullExpiry.
const (
	ackWait    = 8 * time.Second
	pinnedTTL  = 6 * time.Second
	pullExpiry = 2 * time.Second

	pullMessages  = 256
	maxAckPending = 32768
	laneGroup     = "owner"
	logEvery      = time.Minute // of the same failure
)

// NewLane makes a lane that hands each message to deliver, which must not
// block for long. gained is called whenever this host becomes the lane's
// owner, before the first delivery, with the name of the owner before.
func NewLane(js jetstream.JetStream, cfg LaneConfig, log zerolog.Logger, gained func(ctx context.Context, former string), deliver func(*Delivery)) *Lane {
	l := &Lane{
		cfg: cfg, js: js, deliver: deliver, gained: gained, held: newHeldMessages(),
		up: make(chan struct{}), ensuring: make(chan struct{}, 1), turned: make(chan struct{}, 1), due: make(chan takeover, 1),
		log: log.With().Str("stream", cfg.Stream).Str("lane", cfg.Name).Logger(),
	}
	l.owner = ownershipStore{js, cfg.Stream + "." + cfg.Name, l.log}
	l.few = bus.Few(l.log)
	l.claims.Store(&cfg.Filters)
	return l
}

// LaneName is the name of the consumers of lane n.
func LaneName(n int) string { return fmt.Sprintf("lane-%02d", n) }

// Run serves the lane until ctx ends; then it stops pulling at once, while what
// is held stays held and its timers are extended until hold ends. When both
// are over it lets the pin go.
func (l *Lane) Run(ctx, hold context.Context) error {
	extended := make(chan struct{})
	go func() {
		defer close(extended)
		l.held.extend(hold, l.log)
	}()
	var logged string
	var loggedAt time.Time
	for ctx.Err() == nil {
		if l.rests(ctx) {
			continue
		}
		if err := l.serve(ctx); err != nil && ctx.Err() == nil {
			if words := err.Error(); words != logged || time.Since(loggedAt) >= logEvery {
				logged, loggedAt = words, time.Now()
				l.log.Warn().Err(err).Msg("lane consumer: failed; retrying")
			}
			bus.Pause(ctx, time.Second)
		}
	}
	<-extended
	l.release()
	return nil
}

// serve consumes until ctx ends or the consumer is gone.
func (l *Lane) serve(ctx context.Context) error {
	consumer, err := l.ensure(ctx)
	if err != nil {
		return err
	}
	asking := newPulls(l.js.Conn(), l.pullSubject())
	rested := l.rested
	l.rested = nil
	if rested != nil && l.Serving() && pinnedClient(consumer.CachedInfo()) == l.pin {
		asking = rested // it serves the lane as before
	} else if err := l.takeBack(ctx, consumer); err != nil {
		return err
	}
	defer l.asks.Store(false)
	for {
		if again, err := l.ask(ctx, consumer, asking); !again {
			return err
		}
	}
}

// Up is closed once the lane has its consumer and asks it for messages.
func (l *Lane) Up() <-chan struct{} { return l.up }

// trouble logs what a consumer meets; it all passes or ends serve.
func (l *Lane) trouble(err error, silent chan<- struct{}) {
	if errors.Is(err, nats.ErrNoResponders) {
		select {
		case silent <- struct{}{}:
		default:
		}
	}
	if errors.Is(err, jetstream.ErrPinIDMismatch) {
		l.log.Info().Msg("this host does not serve the lane any more; standing by")
		l.letGo()
		return
	}
	l.log.Debug().Err(err).Msg("lane")
}

// Owns asks the server whether this host still holds the pin. If it does not, what was
// delivered under that pin is lost to this host: see [Delivery.LeaveIfLost].
func (l *Lane) Owns(ctx context.Context) (bool, error) {
	pin := l.pinned.Load()
	if pin == nil {
		return false, nil
	}
	consumer, err := l.js.Consumer(ctx, l.cfg.Stream, l.cfg.Name)
	if err != nil {
		return false, err
	}
	if pinnedClient(consumer.CachedInfo()) != *pin {
		if l.pinned.CompareAndSwap(pin, nil) {
			l.lost.Store(time.Now().UnixMilli())
		}
		return false, nil
	}
	return true, nil
}

// holds reports whether this host holds a pin, as far as it knows.
func (l *Lane) holds(pin string) bool {
	now := l.pinned.Load()
	return now != nil && *now == pin
}

// Held is how many messages are held.
func (l *Lane) Held() int { return l.held.count() }

// Passed reports whether all that came before seq has been handed out: after a
// takeover the unacknowledged messages come again in their order, and who has
// later work at hand waits for the earlier. If it has not, then is called once
// it has; nil asks only.
func (l *Lane) Passed(seq uint64, then func()) bool { return l.progress.reached(seq, then) }

// Owner is the name of the host that serves the lane, or was the last to; empty
// when none has.
func (l *Lane) Owner(ctx context.Context) (string, error) {
	note, err := l.owner.read(ctx)
	return note.Host, err
}

// Since is when this host began to serve the lane; zero while it does not.
func (l *Lane) Since() time.Time {
	if !l.Serving() {
		return time.Time{}
	}
	return time.UnixMilli(l.since.Load()).UTC()
}

// Lost is when this host stopped to serve the lane, the last time; zero when it never did.
func (l *Lane) Lost() time.Time {
	if at := l.lost.Load(); at > 0 {
		return time.UnixMilli(at).UTC()
	}
	return time.Time{}
}

// letGo notes that this host does not serve the lane any more, and returns the pin that it had.
func (l *Lane) letGo() *string {
	pin := l.pinned.Swap(nil)
	if pin != nil {
		l.lost.Store(time.Now().UnixMilli())
	}
	return pin
}

// Lag is how many messages of the lane are not done, those in progress among them, as
// of the last that came to this host.
func (l *Lane) Lag() uint64 { return l.progress.behind() + uint64(l.held.count()) }

// Serving reports whether this host holds the pin, as far as it knows.
func (l *Lane) Serving() bool { return l.pinned.Load() != nil }
