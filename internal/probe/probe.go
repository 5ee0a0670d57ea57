// Package probe sends a canary through a fleet: a message that goes the way of those of a
// channel, into a run with the model echo, and back. It costs nothing, reaches no person,
// no hook, tool or note, and its session is deleted afterwards.
package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/client"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The hops of a canary, in their order.
const (
	Published = "published" // by this program, whose clock it is
	Stored    = "stored"    // in AGENT_INBOUND
	Begun     = "run begun" // by the clock of the host that took it
	Model     = "model"     // has answered
	Committed = "committed" // the log of the session has the answer
	Replied   = "reply stored"
	Received  = "received" // by this program
)

var hops = []string{Published, Stored, Begun, Model, Committed, Replied, Received}

const (
	subject = bus.InboundPrefix + bus.DoorProbe
	replies = bus.OutboundPrefix + bus.DoorProbe
	sender  = "agenthost"
	// lookAgain is after what time a reply that was received is looked for again.
	lookAgain = 5 * time.Millisecond
)

// A Result is the way of one canary.
type Result struct {
	Agent string `json:"agent"`
	ID    string `json:"id,omitempty"` // empty: none was sent
	OK    bool   `json:"ok"`
	Host  string `json:"host,omitempty"` // that took it, as far as is known
	Hops  []Hop  `json:"hops"`
	// Missing is the first hop that did not happen in time, and Reason why, where that is known.
	Missing string `json:"missing,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// A Hop is one step of the way. Clocks of different machines may differ.
type Hop struct {
	What  string        `json:"what"`
	At    time.Time     `json:"at"`
	After time.Duration `json:"after_ns"` // it was published
}

// Run sends a canary to an agent that hosts serve, and waits for it for as long as within
// says. That it does not come back is no error, but in the Result.
func Run(ctx context.Context, c *client.Client, hosts client.Fleet, agent string, within time.Duration) (Result, error) {
	r := Result{Agent: agent, Hops: []Hop{}}
	if reason, err := unable(ctx, c, hosts, agent); err != nil || reason != "" {
		r.Missing, r.Reason = Begun, reason
		return r, err
	}
	p := &canary{c: c, reader: records.NewReader(c.JetStream()), agent: agent, id: newID()}
	p.sid = session.SID(agent, session.DM(bus.DoorProbe, "", p.id))
	received, err := p.send(ctx, within)
	// What follows is of the time after the canary is given up as well.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), bus.APITimeout)
	defer cancel()
	if err == nil {
		err = p.look(after, received)
	}
	return p.result(hosts), errors.Join(err, p.tidyUp(after))
}

// unable is why an agent cannot answer a canary now; empty: it may.
func unable(ctx context.Context, c *client.Client, hosts client.Fleet, agent string) (string, error) {
	if len(hosts) == 0 {
		return `no host answers; start one with "agenthost run", or look at what it hangs on`, nil
	}
	if !slices.Contains(hosts.Agents(), agent) {
		if _, err := c.HostsOf(ctx, agent); err != nil { // a busy host may have it
			return "", err
		}
	}
	pauses, err := c.Pauses(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range pauses {
		if p.Agent == agent || p.Agent == "" && (p.Channel == "" || p.Channel == bus.DoorProbe) {
			return p.String() + " is paused " + p.Words(), nil
		}
	}
	return quarantined(hosts, agent), nil
}

// quarantined is why no host runs the agent; empty: one does.
func quarantined(hosts client.Fleet, agent string) (reason string) {
	for _, h := range hosts {
		for _, a := range h.Agents {
			if a.ID == agent && a.State != "quarantined" {
				return ""
			}
			if a.ID == agent {
				reason = fmt.Sprintf("the agent is quarantined on %s: %s", h.Host, a.Reason)
			}
		}
	}
	return reason
}

// A canary is one that is under way.
type canary struct {
	c      *client.Client
	reader *records.Reader
	agent  string
	id     string
	sid    string
	seq    uint64               // in AGENT_INBOUND; 0: unknown
	at     map[string]time.Time // by hop
	host   string
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return "probe-" + hex.EncodeToString(b[:])
}

// send publishes the canary as a channel does, and waits for its reply. A host that comes to
// it later leaves it.
func (p *canary) send(ctx context.Context, within time.Duration) (received time.Time, err error) {
	signer, err := signing.Read(ctx, p.c.JetStream())
	if err != nil {
		return received, err
	}
	replied, err := p.c.NATS().SubscribeSync(replies)
	if err != nil {
		return received, fmt.Errorf("listen for the reply: %w", err)
	}
	defer func() { _ = replied.Unsubscribe() }() // the connection may be gone
	msg, err := bus.NewMessage(subject, bus.Inbound{ID: p.id, From: sender, Conversation: p.id, Agent: p.agent, Text: "canary " + p.id, Meta: map[string]any{bus.CanaryWithin: within.String()}})
	if err != nil {
		return received, err
	}
	msg.Header.Set(nats.MsgIdHdr, p.id)
	msg.Header.Set(signing.Header, signer.Signature(msg.Subject, msg.Data))
	p.at = map[string]time.Time{Published: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ack, err := p.c.JetStream().PublishMsg(ctx, msg)
	if errors.Is(err, context.DeadlineExceeded) {
		return received, nil
	}
	if err != nil {
		return received, fmt.Errorf("publish the canary: %w", err)
	}
	p.seq = ack.Sequence
	if rec, err := p.reader.Get(ctx, ack.Stream, ack.Sequence); err == nil {
		p.at[Stored] = rec.Time
	} else {
		p.at[Stored] = time.Now()
	}
	for {
		msg, err := replied.NextMsgWithContext(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return time.Time{}, nil
		}
		if err != nil {
			return received, fmt.Errorf("wait for the reply: %w", err)
		}
		if p.isReply(msg.Data) {
			return time.Now(), nil
		}
	}
}

// isReply reports whether an outbound message ends the run of this canary.
func (p *canary) isReply(data []byte) bool {
	var out bus.Outbound
	return json.Unmarshal(data, &out) == nil && out.InReplyTo == p.id && out.Final
}

// look reads in the streams how far the canary has come.
func (p *canary) look(ctx context.Context, received time.Time) error {
	if !received.IsZero() {
		p.at[Received] = received
	}
	for f, err := range p.c.Sessions().History(ctx, p.agent, p.sid, 1) {
		if errors.Is(err, client.ErrNoSession) {
			break
		}
		if err != nil {
			return err
		}
		switch f.Event.Type {
		case run.Started:
			p.at[Begun] = f.Event.At
		case run.ModelCalled:
			p.at[Model] = f.Event.At
		case run.Finished:
			p.at[Committed] = f.Event.At
		}
	}
	if rec, err := p.reader.Last(ctx, bus.SessionsStream, session.Subject(p.agent, p.sid)); err == nil && !p.at[Committed].IsZero() {
		p.at[Committed] = rec.Time
	}
	if p.at[Stored].IsZero() {
		return nil
	}
	if err := p.findReply(ctx); err != nil {
		return err
	}
	return p.findHost(ctx)
}

// findReply finds the reply in its stream. What was received is waited for: NATS sends a
// message to those who listen before it is stored.
func (p *canary) findReply(ctx context.Context) error {
	for {
		for rec, err := range p.reader.Since(ctx, bus.OutboundStream, replies, p.at[Stored]) {
			if err != nil {
				return err
			}
			if p.isReply(rec.Data) {
				p.at[Replied] = rec.Time
				return nil
			}
		}
		if p.at[Received].IsZero() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
}

// findHost finds the host that had the lane of the agent when the run began: the last that
// has reported to have taken it.
func (p *canary) findHost(ctx context.Context) error {
	if p.at[Begun].IsZero() {
		return nil
	}
	for rec, err := range p.reader.Tail(ctx, bus.EventsStream, bus.EventsPrefix+p.agent+".takeover", 1) {
		if err != nil {
			return err
		}
		var event struct {
			Host, Stream string
		}
		if json.Unmarshal(rec.Data, &event) == nil && event.Stream == bus.InboundStream {
			p.host = event.Host
		}
	}
	return nil
}

// tidyUp deletes the session of the canary, and the canary itself where it is not answered:
// no host is to begin with it any more.
func (p *canary) tidyUp(ctx context.Context) error {
	if p.at[Replied].IsZero() && p.seq > 0 {
		if _, err := records.Overwrite(ctx, p.c.JetStream(), bus.InboundStream, []uint64{p.seq}); err != nil {
			return fmt.Errorf("take the canary back: %w", err)
		}
	}
	stream, err := p.c.JetStream().Stream(ctx, bus.SessionsStream)
	if err != nil {
		return fmt.Errorf("delete the session of the canary: %w", err)
	}
	if err := session.NewArchive(p.c.JetStream()).NoteDeletion(ctx, p.agent, p.sid); err != nil {
		return fmt.Errorf("delete the session of the canary: %w", err)
	}
	for _, subject := range []string{"agent.session.", "agent.snapshot."} {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject+p.agent+"."+p.sid)); err != nil {
			return fmt.Errorf("delete the session of the canary: %w", err)
		}
	}
	return nil
}

func (p *canary) result(hosts client.Fleet) Result {
	r := Result{Agent: p.agent, ID: p.id, Host: p.host, Hops: []Hop{}}
	for _, what := range hops {
		at, ok := p.at[what]
		if !ok {
			r.Missing = what
			break
		}
		r.Hops = append(r.Hops, Hop{what, at, at.Sub(p.at[Published])})
	}
	r.OK = r.Missing == ""
	if r.Missing == Stored {
		r.Reason = "NATS has not stored it in time"
	}
	if r.Missing == Begun {
		r.Reason = "no host has taken it; " + notTaken(hosts)
	}
	return r
}

// notTaken is why hosts that are ready may not have taken a canary.
func notTaken(hosts client.Fleet) string {
	for _, h := range hosts {
		if h.State != "ready" {
			return fmt.Sprintf("host %s is %s", h.Host, h.State)
		}
	}
	return "the one that has its lane may hang or be busy, or be of a version without canaries; see agenthost fleet"
}
