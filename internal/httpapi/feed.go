package httpapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/client"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Feed follows what happens in the fleet, for all clients of /api/events. It reads
// the streams once, however many clients there are, and only from the first one on.
type Feed struct {
	client  *client.Client
	archive *session.Archive
	reader  *records.Reader
	log     zerolog.Logger

	first sync.Once
	begun chan struct{} // closed by the first client
	ready chan struct{} // closed once nothing is missed any more

	mu        sync.Mutex
	listeners map[*listener]bool
	at        place // of what was taken last
}

// A place is how far a client has read both streams.
type place struct {
	sessions uint64 // in AGENT_SESSIONS
	events   uint64 // in AGENT_EVENTS
}

// A listener is one client.
type listener struct {
	of   string // the token that it has come with
	news chan news
	lost chan struct{} // closed when the client is too slow
}

// news is what one message of a stream says; agent is whom it is about.
type news struct {
	at           place // one of the two
	agent        string
	session, sid string
	items        []item
	facts        []session.Fact          // of a commit
	accounts     []client.ChannelAccount // that have changed
}

// An item is an event for clients.
type item struct {
	name string
	data any
}

const (
	mostNews      = 1024 // that wait for a client
	mostListeners = 256
	mostOfOne     = mostListeners / 2 // of one token: it leaves room for the others
	channelsEvery = 5 * time.Second
)

// NewFeed makes a Feed, which knows nothing until it runs.
func NewFeed(c *client.Client, log zerolog.Logger) *Feed {
	return &Feed{
		client: c, archive: session.NewArchive(c.JetStream()), reader: records.NewReader(c.JetStream()), log: log,
		begun: make(chan struct{}), ready: make(chan struct{}), listeners: map[*listener]bool{},
	}
}

// Run follows the streams from the first client on, until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	select {
	case <-f.begun:
	case <-ctx.Done():
		return nil
	}
	var all, caughtUp sync.WaitGroup
	caughtUp.Add(2)
	all.Go(func() { f.follow(ctx, bus.SessionsStream, "agent.session.>", sync.OnceFunc(caughtUp.Done)) })
	all.Go(func() { f.follow(ctx, bus.EventsStream, bus.EventsPrefix+">", sync.OnceFunc(caughtUp.Done)) })
	all.Go(func() { f.watchChannels(ctx) })
	all.Go(func() {
		caughtUp.Wait()
		close(f.ready)
	})
	all.Wait()
	return nil
}

// follow takes what comes in a stream, until ctx ends.
func (f *Feed) follow(ctx context.Context, stream, filter string, caughtUp func()) {
	defer caughtUp()                                                       // clients that wait give up by themselves
	_ = records.FollowStream(ctx, f.client.JetStream(), records.Following{ // it ends with ctx
		Stream: stream, Subjects: []string{filter}, New: true, Patient: true, Log: f.log,
		MadeAgain: func() { f.startOver(stream) },
		Began: func(after, _ uint64) {
			f.reach(placeIn(stream, after))
			caughtUp()
		},
		Take: func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
			f.take(ctx, stream, records.Record{Subject: msg.Subject(), Seq: meta.Sequence.Stream, Time: meta.Timestamp, Header: msg.Headers(), Data: msg.Data()})
			return nil
		},
	})
}

func placeIn(stream string, seq uint64) place {
	if stream == bus.SessionsStream {
		return place{sessions: seq}
	}
	return place{events: seq}
}

// past is p, and what of q is further.
func (p place) past(q place) place {
	return place{max(p.sessions, q.sessions), max(p.events, q.events)}
}

// has reports whether what is at q was read by who has come to p.
func (p place) has(q place) bool {
	return q != place{} && q.sessions <= p.sessions && q.events <= p.events
}

func (f *Feed) reach(at place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.at.past(at)
}

// startOver cuts off all clients when a stream was made again: the places that they have
// come to are of the one before, and nothing new would be behind them. They come again,
// and are told to read the lists.
func (f *Feed) startOver(stream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if stream == bus.SessionsStream {
		f.at.sessions = 0
	} else {
		f.at.events = 0
	}
	for l := range f.listeners {
		delete(f.listeners, l)
		close(l.lost)
	}
}

// take hands on what a message says. Without clients it is not read.
func (f *Feed) take(ctx context.Context, stream string, rec records.Record) {
	f.mu.Lock()
	idle := len(f.listeners) == 0
	if idle {
		f.at = f.at.past(placeIn(stream, rec.Seq))
	}
	f.mu.Unlock()
	if !idle {
		f.tell(f.newsOf(ctx, stream, rec))
	}
}

// tell hands news to all clients. One that does not read is cut off; it comes again
// with the id of its last event.
func (f *Feed) tell(n news) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.at.past(n.at)
	for l := range f.listeners {
		select {
		case l.news <- n:
		default:
			delete(f.listeners, l)
			close(l.lost)
		}
	}
}

// What is no room for another client.
var (
	errFull      = errors.New("too many clients hear events of this host; try again")
	errFullOfOne = fmt.Errorf("this token has %d streams of events here, the most that one may have; close one first", mostOfOne)
)

// join adds a client that has come with a token. What is behind the place comes by the
// listener.
func (f *Feed) join(ctx context.Context, of string) (*listener, place, error) {
	f.first.Do(func() { close(f.begun) })
	select {
	case <-f.ready:
	case <-ctx.Done():
		return nil, place{}, context.Cause(ctx)
	}
	l := &listener{of: of, news: make(chan news, mostNews), lost: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	own := 0
	for other := range f.listeners {
		if other.of == of {
			own++
		}
	}
	switch {
	case own >= mostOfOne:
		return nil, place{}, errFullOfOne
	case len(f.listeners) >= mostListeners:
		return nil, place{}, errFull
	}
	f.listeners[l] = true
	return l, f.at, nil
}

func (f *Feed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
}

// watchChannels tells which accounts of channels have changed, as long as there are
// clients: no stream has it.
func (f *Feed) watchChannels(ctx context.Context) {
	tick := time.NewTicker(channelsEvery)
	defer tick.Stop()
	known := map[string]client.ChannelAccount{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f.mu.Lock()
		idle := len(f.listeners) == 0
		f.mu.Unlock()
		if idle {
			continue
		}
		list, err := f.client.Channels(ctx)
		if err != nil {
			continue // the next time
		}
		if changed := changes(known, list); len(changed) > 0 {
			f.tell(news{accounts: changed})
		}
	}
}

// changes are the accounts that are not as known, which it updates.
func changes(known map[string]client.ChannelAccount, list []client.ChannelAccount) (changed []client.ChannelAccount) {
	for _, a := range list {
		if !reflect.DeepEqual(known[a.Name()], a) {
			changed = append(changed, a)
		}
		known[a.Name()] = a
	}
	return changed
}
