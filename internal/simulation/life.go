package simulation

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/hooks"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A life is a host from a start to its end.
type life struct {
	w    *world
	name string
	host int

	dead   atomic.Bool // its memory is gone; what its goroutines still do has no effect
	over   chan struct{}
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // for the life
	work   context.Context //nolint:containedctx // of runs
	end    context.CancelFunc
	nc     atomic.Pointer[nats.Conn]
	kit    engine.Kit
	reads  chan int // numbers of partitions that the host is to read
}

func (w *world) newLife(host int) *life {
	l := &life{w: w, name: hostName(host), host: host, over: make(chan struct{}), reads: make(chan int, 8)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.work, l.end = context.WithCancel(context.Background())
	go func() {
		defer close(l.over)
		l.run()
	}()
	return l
}

func hostName(n int) string { return string(rune('A' + n)) }

// Dial connects to the server in memory, in place of a socket.
func (l *life) Dial(string, string) (net.Conn, error) {
	if l.dead.Load() {
		return nil, errDead
	}
	return l.w.server.Dial(l.name)
}

var errDead = errors.New("this host is dead")

// grace is how long the runs in progress may take when a host stops.
const grace = 10 * time.Second

// run is what a process of agenthost does, as far as agents go.
func (l *life) run() {
	connected := make(chan struct{})
	nc, err := nats.Connect("nats://127.0.0.1:4222", nats.SetCustomDialer(l), nats.Name(l.name), nats.MaxReconnects(-1),
		nats.ReconnectWait(250*time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1), nats.DontRandomize(),
		nats.PingInterval(5*time.Second), nats.MaxPingsOutstanding(2), nats.RetryOnFailedConnect(true), nats.ConnectHandler(func(*nats.Conn) { close(connected) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		panic(err)
	}
	l.nc.Store(nc)
	defer nc.Close()
	select {
	case <-connected:
	case <-l.ctx.Done():
	}
	js, err := jetstream.New(nc)
	if err != nil {
		panic(err)
	}
	publisher, err := publishing.New(nc, l.w.log)
	if err != nil {
		return // it died
	}
	reader, files := records.NewReader(js), filestore.New(js)
	wakers := l.newWaker(nc, js, publisher, reader)
	l.kit = l.newKit(wakers)
	parts := engine.NewParts(engine.Options{
		Host: l.name, NC: nc, JS: js, Publisher: publisher, Reader: reader, Files: files, Hooks: hooks.New(l.w.log),
		MaxPayload: 1 << 20, Log: l.w.log, Peers: &engine.Peers{}, Beat: wakers.beats.Decide, OnHeartbeat: l.onHeartbeat,
		Store: &session.Store{Publisher: publisher, Reader: reader, Files: files, Limit: 1 << 19, Log: l.w.log},
	})
	runtimes := l.runtimes(parts)
	fleet := engine.NewFleet(js, parts, l.w.plan.Lanes, runtimes)
	publish, stopPublishing := context.WithCancel(context.Background())
	published := make(chan struct{})
	go func() {
		defer close(published)
		_ = publisher.Run(publish)
	}()
	stop := context.AfterFunc(l.ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			l.end()
		case <-l.work.Done():
		}
	})
	var beside sync.WaitGroup
	beside.Go(func() { l.reload(l.ctx, fleet, runtimes) })
	for _, run := range wakers.jobs(l.w.plan) {
		beside.Go(func() { _ = run(l.ctx) })
	}
	_ = fleet.Run(l.ctx, l.work)
	beside.Wait()
	stop()
	l.end()
	flush, cancel := context.WithTimeout(context.Background(), time.Second)
	if !l.dead.Load() {
		_ = publisher.Flush(flush)
	}
	cancel()
	stopPublishing()
	<-published
}

// stop tells the host to stop in good order.
func (l *life) stop() { l.cancel() }

// kill ends the host at once: what it has not sent never comes, and what its goroutines
// do before they notice reaches nobody.
func (l *life) kill() {
	l.dead.Store(true)
	for _, c := range l.w.server.Clients() {
		if c.Name == l.name {
			l.w.server.Cut(c)
		}
	}
	l.cancel()
	l.end()
	if nc := l.nc.Load(); nc != nil {
		nc.Close()
	}
}
