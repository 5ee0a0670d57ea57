package plugins

import (
	"context"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

const (
	mostActivities = 1000            // chats in which typing is shown at once
	quietMost      = 2 * time.Minute // without a sign of life
	previewEvery   = time.Second
	previewWithin  = 2 * time.Second // what a reply waits for a preview under way
	chunksWaiting  = 256
)

// activities show in the chats of a term that answers are being written. None of it
// holds up a delivery.
type activities struct {
	t        *term
	previews *previews
	running  sync.WaitGroup

	received chan *nats.Msg

	mu     sync.Mutex
	byChat map[string]*activity // by the key of the chat
}

func newActivities(t *term) *activities {
	return &activities{
		t: t, previews: newPreviews(t.c.notes), received: make(chan *nats.Msg, chunksWaiting), byChat: map[string]*activity{},
	}
}

// needed reports whether the channel shows anything.
func (a *activities) needed() bool {
	c := a.t.c
	_, reads := c.channel.(DeltaReader)
	return c.limits.Typing > 0 || c.previewing() || reads
}

// previewing reports whether previews are shown.
func (c *Courier) previewing() bool {
	_, reads := c.channel.(DeltaReader)
	return c.account.Settings.Stream && c.limits.Preview > 0 && !reads
}

// subscribe subscribes to the messages of the account, whichever host takes them. It
// comes before the account is logged in, so that the first message is seen as well;
// nil: nothing is shown.
func (a *activities) subscribe() *nats.Subscription {
	if !a.needed() {
		return nil
	}
	sub, err := a.t.c.parts.NC.ChanSubscribe(a.t.c.account.inbound(), a.received)
	if err != nil {
		a.t.c.log.Warn().Err(err).Msg("watch inbound messages: failed; no typing is shown")
		return nil
	}
	return sub
}

// watch begins an activity for each message that the subscription brings, until the
// term ends.
func (a *activities) watch(sub *nats.Subscription) {
	defer a.running.Wait()
	if sub == nil {
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	ctx := a.t.work
	if a.t.c.previewing() {
		if err := a.previews.load(ctx, a.t.c.parts.JS); err != nil && ctx.Err() == nil {
			a.t.c.log.Warn().Err(err).Msg("read previews of the last owner: failed; they stay as they are")
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case msg := <-a.received:
			a.taken(msg)
		}
	}
}

// taken begins an activity, or tells the one of that chat.
func (a *activities) taken(msg *nats.Msg) {
	in, err := bus.DecodeInbound(msg.Data)
	if err != nil || in.Withdraws != "" || in.Edits != "" {
		return
	}
	id := orElse(in.ID, msg.Header.Get(nats.MsgIdHdr))
	place := Place{To: in.From, Chat: in.Chat, Thread: in.Thread}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := chatKey(place)
	if running := a.byChat[key]; running != nil {
		running.more(id, in.Answers != "")
		return
	}
	if len(a.byChat) >= mostActivities {
		return
	}
	act := &activity{
		all: a, place: place, key: key, session: a.session(&in), awaits: map[string]bool{id: true},
		chunks: make(chan *nats.Msg, chunksWaiting), changed: make(chan struct{}, 1),
	}
	a.byChat[key] = act
	a.running.Go(func() { act.run(a.t.work) })
}

func (a *activities) session(in *bus.Inbound) session.Key {
	account := a.t.c.account
	if in.Group {
		return session.Group(account.Channel, account.Instance, in.Chat, in.Thread)
	}
	key := session.DM(account.Channel, account.Instance, in.From)
	if a.t.c.parts.Session != nil {
		return a.t.c.parts.Session(key)
	}
	return key
}

// replies is called before a reply is delivered.
func (a *activities) replies(key string, out *bus.Outbound) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if act := a.byChat[key]; act != nil {
		act.replies(out)
	}
}

// An activity is that in one chat, from the first message to the last reply.
type activity struct {
	all     *activities
	place   Place
	key     string
	session session.Key
	chunks  chan *nats.Msg
	changed chan struct{} // speaks when one of the following has changed

	// With the lock of activities.
	awaits map[string]bool // messages without a final reply
	asking bool            // a person is asked something: no agent is at work
	ended  string          // the run that has replied last: it writes no more
}

// more is called with the lock held. What comes while a person is asked is the answer.
func (a *activity) more(id string, answer bool) {
	if !a.asking && !answer {
		a.awaits[id] = true
	}
	a.asking = false
	a.signal()
}

// replies is called with the lock held.
func (a *activity) replies(out *bus.Outbound) {
	if out.Kind == bus.KindApproval || out.Kind == bus.KindQuestion {
		a.asking = true
	}
	if out.Final {
		a.ended = out.Run
		delete(a.awaits, out.InReplyTo)
		for _, id := range out.Merged {
			delete(a.awaits, id)
		}
	}
	a.signal()
}

func (a *activity) signal() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// state is whether an agent is at work, and whether there is nothing left to wait for.
func (a *activity) state() (working, done bool, ended string) {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	return !a.asking, len(a.awaits) == 0, a.ended
}

// leave ends the activity, unless something has come meanwhile and it is not forced to.
func (a *activity) leave(force bool) bool {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if len(a.awaits) > 0 && !force {
		return false
	}
	delete(a.all.byChat, a.key)
	return true
}

// run shows what there is to show until the last reply, or until there was no sign of
// life for a while.
func (a *activity) run(ctx context.Context) {
	s := newShow(a)
	defer s.close()
	for {
		working, done, ended := a.state()
		if done && a.leave(false) {
			return
		}
		timer := time.NewTimer(s.next(working))
		select {
		case <-ctx.Done():
			timer.Stop()
			a.leave(true)
			return
		case <-a.changed:
			s.alive()
		case msg := <-a.chunks:
			s.take(msg)
		case <-timer.C:
			if s.quiet() {
				a.leave(true)
				return
			}
			if working {
				s.show(ctx, ended)
			}
		}
		timer.Stop()
	}
}
