package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/httpauth"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

const (
	commentEvery = 5 * time.Second
	checkEvery   = time.Second // whether the token is still good
	writeWithin  = 15 * time.Second
	readyWithin  = 10 * time.Second
	// mostMissed is how far back a client may ask for what it has missed; one that was
	// away longer reads the lists again.
	mostMissed = 20_000
	mostDeltas = 1024
)

// A filter is what a client wants to hear of.
type filter struct {
	caller     httpauth.Caller
	agent, sid string
	key        string // of the session; empty: it has none yet, or all are wanted
}

// wants reports whether news are for the client.
func (x filter) wants(n news) bool {
	return (x.agent == "" || n.agent == x.agent) && (x.sid == "" || n.sid == x.sid) && x.caller.Reaches(n.agent)
}

// filterOf reads what a client wants to hear of.
func (f *Feed) filterOf(r *http.Request, caller httpauth.Caller) (filter, error) {
	q := r.URL.Query()
	for name := range q {
		if name != "agent" && name != "session" && name != "after" {
			return filter{}, fmt.Errorf("unknown field %q; want agent, session, after", name)
		}
	}
	x := filter{caller: caller, agent: q.Get("agent")}
	key := q.Get("session")
	if key == "" {
		return x, nil
	}
	if x.agent == "" {
		return x, errors.New("agent is missing: a session is one of an agent")
	}
	var err error
	if x.sid, err = session.ID(x.agent, key); err == nil {
		x.key = f.keyOf(r.Context(), x.agent, x.sid, key)
	}
	return x, err
}

// keyOf is the key of a session that text names by its key or its sid.
func (f *Feed) keyOf(ctx context.Context, agent, sid, text string) string {
	if text != sid {
		return text
	}
	_, sum, err := f.archive.State(ctx, agent, sid)
	if err != nil {
		return "" // nothing of it is written while it has no log
	}
	return string(sum.Key)
}

// after is the place behind which a client wants to read; again is false where it has read
// nothing, and known where what it names is no place.
func after(r *http.Request) (at place, again, known bool) {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if text == "" {
			continue
		}
		again = true
		first, second, _ := strings.Cut(text, "-")
		sessions, err := strconv.ParseUint(first, 10, 64)
		events, failed := strconv.ParseUint(second, 10, 64)
		if err == nil && failed == nil {
			return place{sessions, events}, true, true
		}
	}
	return place{}, again, false
}

// Handler serves the events to those who may read.
func (f *Feed) Handler(auth *httpauth.Auth) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, status, err := auth.Check(r, httpauth.Read)
		if err != nil {
			WriteError(w, status, err)
			return
		}
		x, err := f.filterOf(r, caller)
		if err != nil {
			WriteError(w, http.StatusBadRequest, err)
			return
		}
		if x.agent != "" && !caller.Reaches(x.agent) {
			WriteError(w, http.StatusNotFound, fmt.Errorf("there is no agent %q", x.agent))
			return
		}
		f.serve(w, r, caller.Name, x, func() bool {
			_, _, err := auth.Check(r, httpauth.Read)
			return err == nil
		})
	})
}

// serve sends the client of a token what it has missed, then what comes, for as long as allowed.
func (f *Feed) serve(w http.ResponseWriter, r *http.Request, of string, x filter, allowed func() bool) {
	joining, cancel := context.WithTimeout(r.Context(), readyWithin)
	defer cancel()
	l, now, err := f.join(joining, of)
	switch {
	case errors.Is(err, errFullOfOne):
		WriteError(w, http.StatusTooManyRequests, err)
		return
	case errors.Is(err, errFull):
		WriteError(w, http.StatusServiceUnavailable, err)
		return
	case err != nil:
		WriteError(w, http.StatusServiceUnavailable, errors.New("no events just now: the streams of NATS cannot be read; try again"))
		return
	}
	defer f.leave(l)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &eventWriter{to: w, flush: http.NewResponseController(w)}
	if r.Method == http.MethodHead {
		return
	}
	if err := f.missed(r, x, now, e); err == nil {
		err = f.live(r.Context(), x, l, e, allowed)
		if err != nil && r.Context().Err() == nil {
			f.log.Debug().Err(err).Msg("events: the client is cut off")
		}
	}
}

// missed sends what a client has missed until now.
func (f *Feed) missed(r *http.Request, x filter, now place, e *eventWriter) error {
	from, again, known := after(r)
	switch {
	case !again:
		e.at = now
		e.event(eventHello, map[string]any{"at": time.Now().UTC()})
		return e.err
	case !known, from.sessions > now.sessions, from.events > now.events, // of another NATS, or made up: nothing would come up to there
		now.sessions > from.sessions+mostMissed, now.events > from.events+mostMissed:
		e.at = now
		e.event(eventReset, map[string]any{"at": time.Now().UTC()})
		return e.err
	}
	e.at = from
	e.event(eventHello, map[string]any{"at": time.Now().UTC()})
	for stream, part := range map[string]struct {
		subject  string
		from, to uint64
	}{
		bus.SessionsStream: {"agent.session.>", from.sessions, now.sessions},
		bus.EventsStream:   {bus.EventsPrefix + ">", from.events, now.events},
	} {
		if part.from >= part.to {
			continue
		}
		for rec, err := range f.reader.Tail(r.Context(), stream, part.subject, part.from+1) {
			if err != nil {
				return err
			}
			if rec.Seq > part.to {
				break
			}
			e.news(x, f.newsOf(r.Context(), stream, rec))
		}
	}
	e.at = e.at.past(now)
	return e.err
}

// live sends what comes.
func (f *Feed) live(ctx context.Context, x filter, l *listener, e *eventWriter, allowed func() bool) error {
	deltas, stop, err := f.deltas(x)
	if err != nil {
		return err
	}
	defer stop()
	check, comment := time.NewTicker(checkEvery), time.NewTicker(commentEvery)
	defer check.Stop()
	defer comment.Stop()
	for e.err == nil {
		select {
		case n := <-l.news:
			if !e.at.has(n.at) {
				e.news(x, n)
			}
		case msg := <-deltas.received:
			for _, c := range deltas.follower.Take(msg) {
				e.event(eventDelta, c)
			}
		case <-deltas.again:
			_ = deltas.follower.Ask() // the connection may be away again already
		case <-comment.C:
			e.comment("alive")
		case <-check.C:
			if !allowed() {
				return errors.New("its token is good no more")
			}
		case <-l.lost:
			return errors.New("it is too slow")
		case <-ctx.Done():
			return nil
		}
	}
	return e.err
}

// deltas are what the model of one session writes.
type deltas struct {
	follower *client.Follower
	received chan *nats.Msg
	again    chan nats.Status
}

// deltas subscribes to what the model of the session writes; without a session
// nothing comes.
func (f *Feed) deltas(x filter) (d deltas, stop func(), err error) {
	if x.key == "" {
		return d, func() {}, nil
	}
	nc := f.client.NATS()
	d = deltas{client.NewFollower(nc, x.agent, x.key), make(chan *nats.Msg, mostDeltas), nc.StatusChanged(nats.CONNECTED)}
	var subs []*nats.Subscription
	stop = func() {
		nc.RemoveStatusListener(d.again)
		for _, s := range subs {
			_ = s.Unsubscribe() // the connection may be gone
		}
	}
	for _, subject := range d.follower.Subjects() {
		s, err := nc.ChanSubscribe(subject, d.received)
		if err != nil {
			stop()
			return d, nil, fmt.Errorf("follow the text: %w", err)
		}
		subs = append(subs, s)
	}
	_ = d.follower.Ask() // without a connection it is asked when that is back
	return d, stop, nil
}

// An eventWriter writes server-sent events. After an error it writes nothing more.
type eventWriter struct {
	to    http.ResponseWriter
	flush *http.ResponseController
	at    place // of what was written
	err   error
}

func (e *eventWriter) write(format string, args ...any) {
	if e.err != nil {
		return
	}
	_ = e.flush.SetWriteDeadline(time.Now().Add(writeWithin)) // a test's writer has none
	if _, e.err = fmt.Fprintf(e.to, format, args...); e.err == nil {
		e.err = e.flush.Flush()
	}
}

func (e *eventWriter) comment(text string) { e.write(": %s\n\n", text) }

// event writes an event with the place that the client has then come to.
func (e *eventWriter) event(name string, data any) {
	body, err := json.Marshal(data)
	if err != nil {
		e.err = err
		return
	}
	e.write("id: %d-%d\nevent: %s\ndata: %s\n\n", e.at.sessions, e.at.events, name, body)
}

// news writes what is for a client. The place is that of the message only with its
// last event: a client that is cut between them gets all of them again.
func (e *eventWriter) news(x filter, n news) {
	items := n.items
	if !x.wants(n) {
		items = nil
	}
	if x.sid != "" && items != nil {
		for _, fact := range n.facts {
			items = append(items, item{eventFact, fact})
		}
	}
	if accounts := x.accounts(n.accounts); len(accounts) > 0 {
		items = append(items, item{eventChannels, map[string]any{"channels": accounts}})
	}
	for i, one := range items {
		if i == len(items)-1 {
			e.at = e.at.past(n.at)
		}
		e.event(one.name, one.data)
	}
	e.at = e.at.past(n.at)
}

// accounts are those that a client may see.
func (x filter) accounts(list []client.ChannelAccount) (kept []client.ChannelAccount) {
	for _, a := range list {
		var seen []string
		for _, agent := range a.Agents {
			if x.caller.Reaches(agent) && (x.agent == "" || agent == x.agent) {
				seen = append(seen, agent)
			}
		}
		if all := x.agent == "" && !x.caller.Limited(); all || len(seen) > 0 {
			a.Agents = append([]string{}, seen...)
			kept = append(kept, a)
		}
	}
	return kept
}
