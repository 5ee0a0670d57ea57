package heartbeat

import (
	"context"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Beat is what `agent.events.<agent>.heartbeat` carries. It is gone from the
// stream after three intervals, so that a subject without one is an agent that
// no host serves.
type Beat struct {
	Agent    string    `json:"agent"`
	Host     string    `json:"host"`
	Seq      uint64    `json:"seq"` // counts the beats of this host, from 1
	At       time.Time `json:"at"`
	Interval float64   `json:"interval"` // seconds
	Uptime   float64   `json:"uptime"`   // of the host, in seconds
	Sessions int       `json:"sessions"`
	InFlight int       `json:"inflight"`
	Queued   int64     `json:"queued"`
	Phase    string    `json:"phase"` // one of the phases
}

// The phases of an agent on a host.
const (
	PhaseIdle        = "idle"
	PhaseWorking     = "working"
	PhaseQuarantined = "quarantined"
	PhaseStopping    = "stopping"
)

// A Status is what an agent is doing on this host.
type Status struct {
	Sessions, InFlight int
	Queued             int64
	Phase              string
}

// A Target is an agent with a heartbeat.
type Target struct {
	Agent  string
	Config Config
	// Status is asked at every beat. It must not block.
	Status    func() Status
	Published bool // its ticks are published also without a prompt, because a behaviour hears them
}

// A Pulse beats for the agents of one host: one goroutine and one timer,
// however many there are.
type Pulse struct {
	Host string
	NC   *nats.Conn
	// JS is asked for the time of NATS; nil: beats go by the clock of the host.
	JS        jetstream.JetStream
	Publisher *publishing.Publisher
	Targets   []Target
	// Always publishes ticks for agents without a prompt as well, for a handler
	// that needs them.
	Always bool
	Log    zerolog.Logger

	clock clock
}

// lives is how many intervals a beat is kept.
const lives = 3

// shortestLife of a beat: NATS forgets messages no sooner.
const shortestLife = time.Second

type beating struct {
	Target
	interval, phase time.Duration
	seq             uint64
	waits           atomic.Bool // a tick is not stored yet
}

// Run beats until ctx ends. A beat that NATS cannot take just then is left out:
// it would be a lie when it came later. A tick is published for as long as it
// takes, and those of the same agent are left out until it is stored.
func (p *Pulse) Run(ctx context.Context) error {
	if len(p.Targets) == 0 {
		<-ctx.Done()
		return nil
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	if p.JS != nil {
		p.clock.js = p.JS
		reading.Go(func() { p.clock.follow(ctx, nil) })
	}
	began, wheel := time.Now(), newWheel[*beating]()
	now := p.clock.soon()
	for _, target := range p.Targets {
		b := &beating{Target: target, interval: target.Config.interval()}
		b.phase = phaseOf(target.Agent, b.interval)
		wheel.add(now, b.after(now), b)
	}
	defer wheel.timer.Stop()
	set := time.NewTicker(clockFor)
	defer set.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wheel.timer.C:
		case <-set.C: // the clock may have been set back
			now := p.clock.soon()
			wheel.bring(now, func(b *beating) time.Time { return b.after(now) })
		}
		now := p.clock.soon()
		for s, ok := wheel.pop(now); ok; s, ok = wheel.pop(now) {
			p.beat(s.what, began)
			p.tick(s.what, s.due)
			// From the clock, not from the last beat: what was late once, or slept
			// with the machine, is on the grid again.
			wheel.add(now, s.what.after(now), s.what)
		}
	}
}

// after is when the agent beats next.
func (b *beating) after(t time.Time) time.Time { return gridAfter(t, b.interval, b.phase) }

func (c Config) interval() time.Duration {
	if c.Interval == 0 {
		return DefaultInterval
	}
	return c.Interval
}

// phaseOf is where in the interval an agent beats: the same on every host, and
// not the same for all agents.
func phaseOf(agent string, interval time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(agent)) // never fails
	return time.Duration(mixed(h.Sum64())%uint64(interval/time.Millisecond)) * time.Millisecond
}

// beat publishes that the agent is served here.
func (p *Pulse) beat(b *beating, began time.Time) {
	if !p.NC.IsConnected() {
		return
	}
	b.seq++
	now, v := time.Now(), b.Status()
	msg, err := bus.NewMessage(bus.EventsPrefix+b.Agent+".heartbeat", Beat{
		Agent: b.Agent, Host: p.Host, Seq: b.seq, At: now.UTC(), Interval: b.interval.Seconds(),
		Uptime:   now.Sub(began).Truncate(time.Millisecond).Seconds(),
		Sessions: v.Sessions, InFlight: v.InFlight, Queued: v.Queued, Phase: v.Phase,
	})
	if err == nil {
		msg.Header["Nats-TTL"] = []string{max(lives*b.interval, shortestLife).String()}
		err = p.NC.PublishMsg(msg)
	}
	if err != nil {
		p.Log.Debug().Err(err).Str("agent", b.Agent).Msg("publish heartbeat")
	}
}

// tick sends the beat to the host that serves the agent, once in the whole fleet.
func (p *Pulse) tick(b *beating, due time.Time) {
	if b.Config.Prompt == "" && !p.Always && !b.Published {
		return
	}
	id := TickID(b.Agent, due)
	msg, err := bus.NewMessage(bus.DuePrefix+b.Agent, bus.Route{
		ID: id, Kind: bus.RouteHeartbeat, Text: b.Config.Prompt, Due: due, Origin: b.Config.To.origin(b.Agent),
	})
	if err != nil {
		p.Log.Error().Err(err).Str("agent", b.Agent).Msg("encode a tick")
		return
	}
	msg.Header.Set(nats.MsgIdHdr, id)
	if b.waits.Swap(true) {
		return
	}
	p.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		b.waits.Store(false)
		if err != nil {
			p.Log.Debug().Err(err).Str("agent", b.Agent).Msg("publish a tick")
		}
	})
}

// TickID is the id of an agent's tick, the same on every host.
func TickID(agent string, due time.Time) string {
	return "heartbeat:" + agent + "@" + due.UTC().Format("2006-01-02T15:04:05.000Z")
}
