package plugins

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
)

// A chat is a place with its queue.
type chat struct {
	key         string
	queue       []*item
	busy        bool // a worker is at it
	pausedUntil time.Time
	users       int                       // activities
	calls       sync.Mutex                // held during a call of the channel for it
	minor       atomic.Pointer[minorCall] // the one under way
}

// chatKey names a chat: messages of one go out one after the other.
func chatKey(p Place) string { return cmp.Or(p.Chat, p.To) + "\x00" + p.Thread }

// chat is called with the lock held.
func (o *outbox) chat(key string) *chat {
	ch := o.chats[key]
	if ch == nil {
		ch = &chat{key: key}
		o.chats[key] = ch
	}
	return ch
}

// drop forgets a chat that is not used any more. It is called with the lock held.
func (o *outbox) drop(ch *chat) {
	if len(ch.queue) == 0 && ch.users == 0 {
		delete(o.chats, ch.key)
	}
}

// use returns a chat, to be left afterwards.
func (o *outbox) use(key string) *chat {
	o.mu.Lock()
	defer o.mu.Unlock()
	ch := o.chat(key)
	ch.users++
	return ch
}

func (o *outbox) leave(ch *chat) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ch.users--; !ch.busy {
		o.drop(ch)
	}
}

// free reports whether something may be shown in a chat now.
func (o *outbox) free(ch *chat) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	return !ch.busy && now.After(ch.pausedUntil) && now.After(o.pausedUntil) && o.t.gate.isOpen()
}

// pause keeps the chat, or the whole account, from delivering. It shortens no other pause.
func (o *outbox) pause(ch *chat, account bool, d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	paused := &ch.pausedUntil
	if account {
		paused = &o.pausedUntil
	}
	if until := time.Now().Add(d); until.After(*paused) {
		*paused = until
	}
}

// waitPaused waits until neither the chat nor the account is paused.
func (o *outbox) waitPaused(ctx context.Context, ch *chat) {
	for ctx.Err() == nil {
		o.mu.Lock()
		until := ch.pausedUntil
		if o.pausedUntil.After(until) {
			until = o.pausedUntil
		}
		o.mu.Unlock()
		d := time.Until(until)
		if d <= 0 {
			return
		}
		bus.Pause(ctx, d)
	}
}
