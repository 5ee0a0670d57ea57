package plugins

import (
	"context"
	"errors"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/plugins/internal/split"

	"github.com/nats-io/nats.go"
)

// A show is what an activity shows: typing, and what was written so far. Only the
// goroutine of the activity uses it.
type show struct {
	a       *activity
	c       *Courier
	ch      *chat
	reads   DeltaReader // nil: the channel wants no pieces
	writers []*writer
	subs    []*nats.Subscription
	heard   time.Time // the last sign of life
	typing  time.Time // when typing is due
	preview time.Time // when the next preview may be
}

// A writer is an agent that may write in the chat.
type writer struct {
	agent    string
	follower *client.Follower
	turn     client.Chunk // the turn that it is in
	text     string       // of that turn
	shown    string       // what the preview says
	stuck    bool         // the platform takes no preview of it
}

func newShow(a *activity) *show {
	t := a.all.t
	s := &show{a: a, c: t.c, ch: t.outbox.use(a.key), heard: time.Now(), typing: time.Now()}
	s.reads, _ = t.c.channel.(DeltaReader)
	for _, agent := range t.c.parts.Agents() {
		w := &writer{agent: agent, follower: client.NewFollower(t.c.parts.NC, agent, string(a.session))}
		s.writers = append(s.writers, w)
		for _, subject := range w.follower.Subjects() {
			sub, err := t.c.parts.NC.ChanSubscribe(subject, a.chunks)
			if err != nil { // typing ends earlier then, and that is all
				t.c.few.Debug().Err(err).Msg("follow agent")
				continue
			}
			s.subs = append(s.subs, sub)
		}
		_ = w.follower.Ask() // what comes next asks again
	}
	return s
}

func (s *show) close() {
	for _, sub := range s.subs {
		_ = sub.Unsubscribe() // the connection may be gone
	}
	s.a.all.t.outbox.leave(s.ch)
}

func (s *show) alive() { s.heard = time.Now() }

func (s *show) quiet() bool { return time.Since(s.heard) >= quietMost }

// next is how long there is nothing to show.
func (s *show) next(working bool) time.Duration {
	due := s.heard.Add(quietMost)
	if working && s.c.limits.Typing > 0 && s.typing.Before(due) {
		due = s.typing
	}
	if working && s.c.previewing() && slices.ContainsFunc(s.writers, (*writer).changed) && s.preview.Before(due) {
		due = s.preview
	}
	return max(time.Until(due), 0)
}

func (w *writer) changed() bool { return !w.stuck && w.text != "" && w.text != w.shown }

// take takes a chunk of what one of the agents writes.
func (s *show) take(msg *nats.Msg) {
	for _, w := range s.writers {
		if !slices.Contains(w.follower.Subjects(), msg.Subject) {
			continue
		}
		for _, c := range w.follower.Take(msg) {
			s.alive()
			w.add(c)
			if s.reads != nil && c.Text != "" {
				s.pass(Delta{Agent: w.agent, Session: string(s.a.session), To: s.a.place, Text: c.Text})
			}
		}
	}
}

func (s *show) pass(d Delta) {
	var err error
	defer recovered(s.c, "delta", &err)
	s.reads.Delta(d)
}

func (w *writer) add(c client.Chunk) {
	switch {
	case c.Call != "": // how far a tool is
		return
	case c.Run != w.turn.Run:
		w.stuck = false
		fallthrough
	case c.Attempt != w.turn.Attempt, c.Turn != w.turn.Turn, c.Restart:
		w.turn, w.text = c, ""
	}
	w.text += c.Text
}

// show shows what is due, unless the chat is just getting a message.
func (s *show) show(ctx context.Context, ended string) {
	now := time.Now()
	if !s.a.all.t.outbox.free(s.ch) {
		s.typing, s.preview = now.Add(previewEvery), now.Add(previewEvery)
		return
	}
	if s.c.limits.Typing > 0 && !now.Before(s.typing) {
		s.typing = now.Add(s.c.limits.Typing)
		_ = s.call(ctx, false, func(ctx context.Context) error { return s.c.channel.Typing(ctx, s.a.place) }) // it is shown again soon
	}
	if !s.c.previewing() || now.Before(s.preview) {
		return
	}
	for _, w := range s.writers {
		if w.changed() && w.turn.Run != ended {
			s.showText(ctx, w)
		} else if w.turn.Run == ended {
			w.shown = w.text
		}
	}
	s.preview = time.Now().Add(max(previewEvery, s.c.limits.Preview))
}

// showText shows the newest text of one agent.
func (s *show) showText(ctx context.Context, w *writer) {
	shown := s.a.all.previews
	id := shown.of(s.a.key, w.agent, w.turn.Run)
	text := w.text
	err := s.call(ctx, true, func(ctx context.Context) error {
		if _, _, ended := s.a.state(); ended == w.turn.Run { // its reply has come meanwhile
			return nil
		}
		next, err := s.c.channel.Preview(ctx, s.a.place, id, s.c.tail(text))
		if err == nil && next != "" {
			shown.set(preview{Chat: s.a.key, Agent: w.agent, Run: w.turn.Run, ID: next})
		}
		return err
	})
	w.shown = text
	if _, permanent := errors.AsType[*PermanentError](err); permanent {
		w.stuck = true
	}
}

// tail is the end of a text as the platform takes it.
func (c *Courier) tail(text string) string {
	pieces := split.Markdown(text, func(p string) bool { return c.fits(c.render(p)) })
	if len(pieces) == 0 {
		return ""
	}
	return c.render(pieces[len(pieces)-1])
}

// errBusy says that the chat is just getting a message.
var errBusy = errors.New("the chat is busy")

// call calls the channel for the chat. A delivery that comes meanwhile ends the call:
// typing at once, a preview soon.
func (s *show) call(ctx context.Context, preview bool, do func(context.Context) error) (err error) {
	if !s.ch.calls.TryLock() {
		return errBusy
	}
	defer s.ch.calls.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ch.minor.Store(&minorCall{cancel, preview})
	defer s.ch.minor.Store(nil)
	defer func() {
		if limit, ok := errors.AsType[*RateLimitError](err); ok {
			until := time.Now().Add(max(limit.After, previewEvery))
			s.typing, s.preview = until, until
		}
		if err != nil && ctx.Err() == nil {
			s.c.few.Debug().Err(err).Bool("preview", preview).Msg("show activity: failed")
		}
	}()
	defer recovered(s.c, "preview", &err)
	return do(ctx)
}

// A minorCall is one that a delivery need not wait for.
type minorCall struct {
	cancel  context.CancelFunc
	preview bool
}

// hurry ends a minor call.
func (ch *chat) hurry() {
	call := ch.minor.Load()
	switch {
	case call == nil:
	case call.preview: // its id is wanted
		time.AfterFunc(previewWithin, call.cancel)
	default:
		call.cancel()
	}
}

// replaces reports whether a reply takes the place of a preview.
func replaces(out *bus.Outbound) bool {
	return out.Final || out.Kind == bus.KindReply || out.Kind == bus.KindError
}
