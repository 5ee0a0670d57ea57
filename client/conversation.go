package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Party says who talks to an agent, and in which session.
type Party struct {
	// From is who sends the messages; empty: "client".
	From string
	// Session is the name of the session; empty: a new one.
	Session string
}

// A Conversation is one session with one agent, from the side of the person or
// the program. It handles one message at a time.
type Conversation struct {
	client *Client
	agent  string
	party  Party

	inbox    string         // of replies; empty: they are of no interest
	asks     string         // of approvals and questions
	follower *Follower      // nil: only whole replies are of interest
	received chan *nats.Msg // all of these, in the order they came
	asked    map[string]bool
	again    chan nats.Status
	subs     []*nats.Subscription
	dropped  int // messages of subs that were lost, as far as the agent was asked again
}

// receivedSize holds what a model writes while the reader is slow.
const receivedSize = 4096

// Ask sends an agent a message and waits for the reply, which outlives hosts: end
// ctx to give up waiting. A reply that says why there is none is an error, as
// Reply.Err. That no host has the agent is an *UnknownError; where none runs the
// message waits for one.
func (c *Client) Ask(ctx context.Context, agent, text string, party Party) (Reply, error) {
	if _, err := c.HostsOf(ctx, agent); err != nil {
		return Reply{}, err
	}
	conv := c.Conversation(agent, party)
	if err := conv.Listen(false); err != nil {
		return Reply{}, err
	}
	defer conv.Close()
	m := NewMessage(text)
	if _, err := conv.Send(ctx, m); err != nil {
		return Reply{}, err
	}
	r, err := conv.Wait(ctx, m, nil)
	if err != nil {
		return r, fmt.Errorf("wait for the reply of %s to %s: %w", agent, m.ID, err)
	}
	return r, r.Err()
}

// Conversation begins a session with an agent, or goes on in one. Listen comes
// before Send where replies are of interest.
func (c *Client) Conversation(agent string, party Party) *Conversation {
	party.From, party.Session = cmp.Or(party.From, "client"), cmp.Or(party.Session, nuid.Next())
	return &Conversation{client: c, agent: agent, party: party}
}

// Agent is the id of the agent.
func (c *Conversation) Agent() string { return c.agent }

// Party is who talks in which session.
func (c *Conversation) Party() Party { return c.party }

// Key is the key of the session, as in events and logs.
func (c *Conversation) Key() string { return RouteKey(c.party.From, c.party.Session) }

// Listen subscribes to replies, approvals and questions, and with stream to
// pieces of replies, until Close.
func (c *Conversation) Listen(stream bool) error {
	nc := c.client.nc
	c.inbox, c.asks = nc.NewInbox(), nc.NewInbox()
	c.received = make(chan *nats.Msg, receivedSize)
	subjects := []string{c.inbox, c.asks}
	if stream {
		c.follower = NewFollower(nc, c.agent, c.Key())
		subjects = append(subjects, c.follower.Subjects()...)
	}
	for _, subject := range subjects {
		sub, err := nc.ChanSubscribe(subject, c.received)
		if err != nil {
			return fmt.Errorf("listen for replies of %s: %w", c.agent, err)
		}
		c.subs = append(c.subs, sub)
	}
	c.again = nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	return nil
}

// Close ends what Listen has begun. The connection stays.
func (c *Conversation) Close() {
	for _, sub := range c.subs {
		_ = sub.Unsubscribe() // the connection may be gone
	}
	if c.again != nil {
		c.client.nc.RemoveStatusListener(c.again)
	}
}

// Send publishes a message. It returns when NATS has stored it.
func (c *Conversation) Send(ctx context.Context, m Message) (Receipt, error) {
	ack, err := c.publish(ctx, m, m.ID)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{ID: m.ID, Stream: ack.Stream, Seq: ack.Sequence, Session: c.Key()}, nil
}

func (c *Conversation) publish(ctx context.Context, m Message, msgID string) (*jetstream.PubAck, error) {
	task := bus.Route{
		ID: m.ID, Kind: bus.RouteDelegate, From: c.party.From, CorrelationID: c.party.Session, Text: m.Text, ReplyTo: c.inbox, Door: c.client.door,
	}
	if c.asks != "" {
		task.Origin = &bus.Origin{Session: c.party.Session, Subject: c.asks, To: c.party.From}
	}
	msg, err := bus.NewMessage(bus.RoutePrefix+c.agent, task)
	if msg, err = checked(msg, err); err != nil {
		return nil, fmt.Errorf("send to %s: %w", c.agent, err)
	}
	msg.Header.Set(nats.MsgIdHdr, msgID)
	ack, err := c.client.store(ctx, msg)
	switch {
	case errors.Is(err, ErrNotStored):
		return nil, fmt.Errorf(`send to %s: %w; start one with "agenthost run"`, c.agent, err)
	case err != nil:
		return nil, fmt.Errorf("send to %s: %w", c.agent, err)
	}
	return ack, nil
}

// Answer answers an approval or a question of this conversation with a line of
// text; of an approval, a scope may follow. It returns the id of the order, which
// the Notice of a host names.
func (c *Conversation) Answer(ctx context.Context, w Waiting, text, by string) (order string, err error) {
	a := Answer{ID: w.ID, Text: text, By: by, Door: c.client.door}
	if w.Kind == ForApproval {
		a.Text, a.Scope = splitScope(text)
	}
	if err := a.fit(w); err != nil {
		return "", err // without the id, which the person has not seen
	}
	msg, err := a.Message(w, c.inbox)
	if err != nil {
		return "", err
	}
	return c.order(ctx, msg)
}

// Stop orders the agent to stop what it does in this conversation. It returns the
// id of the order, which the Notice of a host names.
func (c *Conversation) Stop(ctx context.Context, by string) (order string, err error) {
	msg, err := Stop{Agent: c.agent, Session: c.Key(), By: by, Door: c.client.door}.Message(c.inbox)
	if err != nil {
		return "", err
	}
	return c.order(ctx, msg)
}

func (c *Conversation) order(ctx context.Context, msg *nats.Msg) (string, error) {
	_, err := c.client.store(ctx, msg)
	return msg.Header.Get(nats.MsgIdHdr), err
}

// readAsk reads an approval or a question. It has all that an answer needs: the
// bucket of what waits may not have it yet.
func readAsk(data []byte) (Waiting, bool) {
	out := bus.Outbound{}
	if err := json.Unmarshal(data, &out); err != nil || out.Call == "" {
		return Waiting{}, false
	}
	w := Waiting{ID: out.Call, Agent: out.Agent, Kind: out.Kind, Prompt: out.Text, Options: out.Options}
	return w, out.Kind == bus.KindApproval || out.Kind == bus.KindQuestion
}

// ParseParty reads the name of a session, in which from talks, or a key such as
// route/cli/apples, which names both. The key of another channel is a *NameError:
// its chat goes on where it is.
func ParseParty(text, from string) (Party, error) {
	rest, route := strings.CutPrefix(text, "route/")
	if !route {
		if _, err := session.ID("a", text); err == nil {
			return Party{}, &NameError{fmt.Errorf("session %q belongs to a chat and can only be continued there; want a name, or a key such as route/cli/apples", text)}
		}
		return Party{from, text}, nil
	}
	wrong := &NameError{fmt.Errorf("session %q: want a name, or a key such as route/cli/apples", text)}
	who, name, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(name, "/") || name == "" {
		return Party{}, wrong
	}
	who, failed := url.PathUnescape(who)
	name, bad := url.PathUnescape(name)
	if errors.Join(failed, bad) != nil || who == "" {
		return Party{}, wrong
	}
	return Party{who, name}, nil
}

// mostParties is how many sessions of an agent are looked at for the last one.
const mostParties = 1000

// LastParty is the last session in which from has talked to an agent; ok is false
// when there is none.
func (c *Client) LastParty(ctx context.Context, agent, from string) (p Party, ok bool, err error) {
	list, err := c.Sessions().List(ctx, SessionPage{Agent: agent, Limit: mostParties})
	if err != nil {
		return Party{}, false, err
	}
	mine := RouteKey(from, "")
	for _, s := range list.Sessions {
		if strings.HasPrefix(string(s.Key), mine) {
			p, err = ParseParty(string(s.Key), from)
			return p, err == nil, err
		}
	}
	return Party{}, false, nil
}
