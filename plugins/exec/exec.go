// Package exec runs a program that is a channel: it speaks JSON lines on its
// standard input and output.
package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/rs/zerolog"
)

// A Channel runs a program. It implements plugins.Channel.
type Channel struct {
	name string
	cfg  settings.Exec
	log  zerolog.Logger
	rest rest

	mu      sync.Mutex
	talk    *talk         // with the running program; nil: none runs
	changed chan struct{} // closed when talk is another
}

// New makes a Channel. It starts nothing.
func New(channel string, cfg settings.Exec, log zerolog.Logger) (*Channel, error) {
	return &Channel{
		name: channel, cfg: cfg, log: log.With().Str("channel", channel).Logger(), changed: make(chan struct{}),
	}, nil
}

// Run runs the program once: until it ends, or is stopped because ctx has ended. A
// program that ended is not started again before its time.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error {
	if err := c.rest.wait(ctx); err != nil {
		return err
	}
	started := time.Now()
	p, err := startProcess(c.cfg, c.log)
	if err == nil {
		t := newTalk(p, c.log)
		t.say(helloLine{"hello", 1, c.name, ""})
		c.set(t)
		in.Connected(c.cfg.Command[0])
		t.run(ctx, in)
		c.set(nil)
		err = p.Ended(c.cfg.Command[0])
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w; it is started again in %s", err, c.rest.after(time.Since(started)))
}

func (c *Channel) set(t *talk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.talk = t
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Channel) running() (t *talk, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.talk, c.changed
}

// Deliver gives a reply to the program and waits until it has delivered it.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	for {
		t, changed := c.running()
		if t != nil {
			return m.Reply.ID, t.deliver(ctx, m.Reply.ID, m.Envelope)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// Delta tells a program that wants to know what an agent says, unless it is too slow.
func (c *Channel) Delta(d plugins.Delta) {
	if t, _ := c.running(); t != nil && t.stream.Load() {
		t.offer(deltaLine{"delta", d.Agent, d.Session, d.To.To, d.To.Chat, d.Text})
	}
}

// Typing does nothing: the program sees the pieces.
func (c *Channel) Typing(context.Context, plugins.Place) error { return nil }

// Preview does nothing: the program sees the pieces.
func (c *Channel) Preview(context.Context, plugins.Place, string, string) (string, error) {
	return "", nil
}

// Limits say that the program gets whole replies, that their ids tell it which it has had,
// and that one which is stopped may still say what it has delivered.
func (c *Channel) Limits() plugins.Limits {
	return plugins.Limits{Whole: true, Idempotent: true, Drains: true}
}

const (
	shortestRest = time.Second
	longestRest  = time.Minute
	// livedWell is how long a program has to run for its next rest to be the shortest.
	livedWell = time.Minute
)

// A rest is the time between the end of a program and its next start.
type rest struct {
	next  time.Duration
	until time.Time
}

// after notes how long the program lived, and returns how long the rest is.
func (r *rest) after(lived time.Duration) time.Duration {
	r.next = min(max(2*r.next, shortestRest), longestRest)
	if lived >= livedWell {
		r.next = shortestRest
	}
	r.until = time.Now().Add(r.next)
	return r.next
}

func (r *rest) wait(ctx context.Context) error {
	timer := time.NewTimer(time.Until(r.until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The lines for the program.
type (
	helloLine struct {
		Type     string `json:"type"`
		V        int    `json:"v"`
		Channel  string `json:"channel"`
		Instance string `json:"instance"`
	}
	outboundLine struct {
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
	}
	acceptedLine struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	refusedLine struct {
		Type  string `json:"type"`
		ID    string `json:"id"`
		Error string `json:"error"`
	}
	deltaLine struct {
		Type    string `json:"type"`
		Agent   string `json:"agent"`
		Session string `json:"session"`
		To      string `json:"to"`
		Chat    string `json:"chat"`
		Text    string `json:"text"`
	}
	stopLine struct {
		Type string `json:"type"`
	}
)

// A line is one from the program.
type line struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Message    json.RawMessage `json:"message"`
	Error      string          `json:"error"`
	RetryAfter string          `json:"retry_after"`
	Permanent  bool            `json:"permanent"`
	Stream     bool            `json:"stream"`
}
