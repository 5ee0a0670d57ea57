package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/client"

	"github.com/nats-io/nats.go"
)

const (
	keepAliveEvery = 10 * time.Second
	checkEvery     = time.Second // whether the token is still good
	writeWithin    = 30 * time.Second
	readyWithin    = 10 * time.Second
	// mostMissed is how far back a page may ask for what it has missed; one that was
	// away longer reads the conversation again.
	mostMissed = 20_000
	mostDeltas = 1024
)

// begin has the hub follow the channel, and waits until nothing is missed any more.
// With false the request is answered.
func (w *Web) begin(rw http.ResponseWriter, r *http.Request) bool {
	w.hub.begin()
	ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
	defer cancel()
	select {
	case <-w.hub.ready:
		return true
	case <-ctx.Done():
		later(rw, http.StatusServiceUnavailable, "2", "messages cannot be read just now; it is tried again")
		return false
	}
}

// events sends what is new to a page: the lines of all conversations of the person,
// and of the one that the query names the text as it is written.
func (w *Web) events(rw http.ResponseWriter, r *http.Request) {
	at, ok := w.place(rw, r)
	if !ok {
		return
	}
	done := w.limits.stream(at.person)
	if done == nil {
		later(rw, http.StatusTooManyRequests, "10", "too many pages of this chat are open; close some")
		return
	}
	defer done()
	if !w.begin(rw, r) {
		return
	}
	// Before the page hears that it is connected: from then on nothing is missed.
	sub, now := w.hub.join(at.person)
	defer w.hub.leave(sub)
	h := rw.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	rw.WriteHeader(http.StatusOK)
	e := &eventWriter{to: rw, flush: http.NewResponseController(rw)}
	e.comment("hello")
	if err := w.sendAll(r, at, sub, now, e); err != nil && r.Context().Err() == nil {
		w.parts.Log.Debug().Err(err).Msg("chat page: events")
	}
}

// after is the place in AGENT_OUTBOUND behind which a page wants to read, 0 when the
// stream was empty; again is false where it has read nothing, and known where what it names
// is no place.
func after(r *http.Request) (place uint64, again, known bool) {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if text == "" {
			continue
		}
		again = true
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n, true, true
		}
	}
	return 0, again, false
}

// sendAll sends what the page has missed, then what comes.
func (w *Web) sendAll(r *http.Request, at place, sub *stream, now uint64, e *eventWriter) error {
	sent := now
	switch from, again, known := after(r); {
	case again && !known:
		e.event("reset", now, struct{}{})
	case again:
		var err error
		if sent, err = w.sendMissed(r.Context(), at.person, from, now, e); err != nil {
			return err
		}
	}
	f, deltas, stop, err := w.follow(at)
	if err != nil {
		return err
	}
	defer stop()
	nc := w.parts.Client.NATS()
	status := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(status)
	alive, check := time.NewTicker(keepAliveEvery), time.NewTicker(checkEvery)
	defer alive.Stop()
	defer check.Stop()
	for e.err == nil {
		select {
		case n := <-sub.news:
			if n.seq == 0 || n.seq > sent {
				w.sendNews(r.Context(), at.person, n, e)
			}
		case msg := <-deltas:
			for _, c := range f.Take(msg) {
				e.event("delta", 0, c)
			}
		case <-status:
			_ = f.Ask() // the connection may be away again already
		case <-alive.C:
			e.comment("alive")
		case <-check.C:
			if _, no := w.parts.Auth.Admit(r, mayLook...); no != nil {
				return nil
			}
		case <-sub.lost:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
	return e.err
}

// sendMissed sends the replies to a person from a place on. It returns the last
// place that it has looked at.
func (w *Web) sendMissed(ctx context.Context, person string, from, now uint64, e *eventWriter) (uint64, error) {
	if from == now || from > now && w.stored(ctx, from) {
		return from, nil
	}
	if from > now || now-from > mostMissed {
		e.event("reset", now, struct{}{})
		return now, e.err
	}
	for rec, err := range w.reader.Tail(ctx, bus.OutboundStream, outward, from+1) {
		if err != nil {
			return from, fmt.Errorf("read replies: %w", err)
		}
		from = rec.Seq
		if out, ok := readOutbound(rec.Data); ok && out.To == person {
			w.sendNews(ctx, person, news{rec.Seq, ofOutbound(out)}, e)
		}
	}
	return from, e.err
}

// stored reports whether AGENT_OUTBOUND has come to a place. The hub may be behind what a page
// has from another host; a place behind the end is of a stream that is gone, or made up.
func (w *Web) stored(ctx context.Context, place uint64) bool {
	s, err := w.parts.Client.JetStream().Stream(ctx, bus.OutboundStream)
	return err != nil || place <= s.CachedInfo().State.LastSeq
}

// wholeOf is what is to run when the approval of that id is given; the log has it
// before the approval is published.
func (w *Web) wholeOf(ctx context.Context, at place, id string) string {
	s, err := w.read(ctx, at)
	if err != nil || s.byID[id] == nil {
		return "" // the text says what is to run
	}
	return s.byID[id].Whole
}

func (w *Web) sendNews(ctx context.Context, person string, n news, e *eventWriter) {
	it := *n.item // others send it too
	if it.Kind == bus.KindApproval {
		it.Whole = w.wholeOf(ctx, place{it.Agent, person, threadOf(it.Conversation)}, it.ID)
	}
	e.event("line", n.seq, it)
}

// follow subscribes to what models say in a conversation.
func (w *Web) follow(at place) (f *client.Follower, deltas chan *nats.Msg, stop func(), err error) {
	nc := w.parts.Client.NATS()
	f = client.NewFollower(nc, at.agent, w.keyOf(at))
	deltas = make(chan *nats.Msg, mostDeltas)
	var subs []*nats.Subscription
	stop = func() {
		for _, s := range subs {
			_ = s.Unsubscribe() // the connection may be gone
		}
	}
	for _, subject := range f.Subjects() {
		s, err := nc.ChanSubscribe(subject, deltas)
		if err != nil {
			stop()
			return nil, nil, nil, fmt.Errorf("follow the text: %w", err)
		}
		subs = append(subs, s)
	}
	_ = f.Ask() // without a connection it is asked when that is back
	return f, deltas, stop, nil
}

// An eventWriter writes server-sent events. After an error it writes nothing more.
type eventWriter struct {
	to    http.ResponseWriter
	flush *http.ResponseController
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

// event writes an event; JSON has no line breaks. Without a place the last one
// stays in force.
func (e *eventWriter) event(name string, seq uint64, data any) {
	body, err := json.Marshal(data)
	if err != nil {
		e.err = err
		return
	}
	if seq > 0 {
		e.write("id: %d\nevent: %s\ndata: %s\n\n", seq, name, body)
		return
	}
	e.write("event: %s\ndata: %s\n\n", name, body)
}
