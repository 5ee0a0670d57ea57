package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"agenthost/agents"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// A Chunk is a piece of an answer as it comes.
type Chunk = agents.Chunk

// StreamSubject is where the host that serves a session repeats what its model
// has written so far.
const StreamSubject = "agenthost.stream"

// A StreamRequest is the request on StreamSubject.
type StreamRequest struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // its key
}

// A Follower turns the messages of a session's stream into the text as the model
// writes it, without gap or repeat. Subscribe to its Subjects, Ask once that is
// done and whenever the connection is back, and Take all that comes. It is for
// one goroutine. Client.Follow does all of that.
type Follower struct {
	nc             *nats.Conn
	subject, inbox string
	request        []byte
	joiner         agents.Joiner
	asked          time.Time
}

// askAfter is how long a Follower waits for what it has asked for.
const askAfter = 100 * time.Millisecond

// NewFollower follows the session of an agent that has this key.
func NewFollower(nc *nats.Conn, agent, key string) *Follower {
	request, _ := json.Marshal(StreamRequest{agent, key}) // two strings always marshal
	return &Follower{nc: nc, subject: agents.StreamSubject(agent, session.Key(key)), inbox: nc.NewInbox(), request: request}
}

// Subjects are those that bring what Take takes.
func (f *Follower) Subjects() []string { return []string{f.subject, f.inbox} }

// Ask asks what has been written so far. It does not wait for the answer; while
// no model writes there is none.
func (f *Follower) Ask() error {
	f.asked = time.Now()
	if err := f.nc.PublishRequest(StreamSubject, f.inbox, f.request); err != nil {
		return fmt.Errorf("ask for the text so far: %w", err)
	}
	return nil
}

// Take returns what is new by a message, valid until the next call. When
// something is missing it asks for it.
func (f *Follower) Take(msg *nats.Msg) []Chunk {
	var c Chunk
	if err := json.Unmarshal(msg.Data, &c); err != nil {
		return nil
	}
	if msg.Subject == f.inbox {
		return f.joiner.Join(c)
	}
	pieces := f.joiner.Hear(c)
	if f.joiner.Behind() && time.Since(f.asked) > askAfter {
		_ = f.Ask() // what comes next asks again
	}
	return pieces
}

// followSize is how much may come while a reader is busy; what is lost beyond
// that is asked for.
const followSize = 1024

// Follow yields what a model writes in a session, from the beginning of its
// present turn, until ctx ends or the connection is closed, which is an error.
func (c *Client) Follow(ctx context.Context, agent, key string) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		nc := c.nc
		f := NewFollower(nc, agent, key)
		received := make(chan *nats.Msg, followSize)
		status := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
		defer nc.RemoveStatusListener(status)
		for _, subject := range f.Subjects() {
			sub, err := nc.ChanSubscribe(subject, received)
			if err != nil {
				yield(Chunk{}, fmt.Errorf("follow %s: %w", agent, err))
				return
			}
			defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
		}
		_ = f.Ask() // while the connection is away; it is asked again once it is back
		for {
			select {
			case msg := <-received:
				for _, chunk := range f.Take(msg) {
					if !yield(chunk, nil) {
						return
					}
				}
			case s := <-status:
				if s == nats.CLOSED {
					yield(Chunk{}, fmt.Errorf("follow %s: %w", agent, nats.ErrConnectionClosed))
					return
				}
				_ = f.Ask() // the connection may be away again already
			case <-ctx.Done():
				return
			}
		}
	}
}
