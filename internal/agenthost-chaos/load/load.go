// Package load talks to a fleet as people do, and counts what its tools and its
// model do for it.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/agenthost-chaos/check"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Load is people who talk to agents. Its methods are safe for concurrent use.
type Load struct {
	js       jetstream.JetStream
	platform *Platform
	rate     int // messages a second
	sessions []*conversation

	mu      sync.Mutex
	inputs  []*check.Input // that were accepted
	ended   map[string]time.Time
	approve map[string]bool // approvals that were answered, by the id of the call
}

// A kind is a number of sessions that are alike.
type kind struct {
	count          int
	channel, queue string
	from           []string // more than one: a group
	chat           string
	verbs          []string
	most           int  // messages at once that have no end yet
	stops          bool // some runs are stopped
}

// A conversation is one session. Its messages are sent one after the other.
type conversation struct {
	kind
	sending sync.Mutex
	n       int
	open    map[string]bool // ids without an end; with Load.mu
}

// The channels, which are one to each queue mode or purpose.
const (
	Chat    = "chat"
	Collect = "collect"
	Steer   = "steer"
	Asking  = "asking"
	Slow    = "slow"
	Room    = "room" // an account of the hosts
)

// New makes people who say so many messages a second.
func New(js jetstream.JetStream, platform *Platform, rate int) *Load {
	l := &Load{js: js, platform: platform, rate: rate, ended: map[string]time.Time{}, approve: map[string]bool{}}
	everything := []string{"", "", VerbPay, VerbLook, VerbBoth, VerbNote, VerbHelp}
	for _, k := range []kind{
		{16, Chat, "followup", []string{"p"}, "", everything, 3, false},
		{4, Chat, "followup", []string{"m", "n"}, "g", everything, 3, false},
		{8, Collect, "collect", []string{"p"}, "", []string{""}, 5, false},
		{8, Steer, "steer", []string{"p"}, "", []string{"", VerbPay, VerbSlow}, 4, false},
		{6, Asking, "followup", []string{"p"}, "", []string{VerbPay}, 1, false},
		{6, Slow, "followup", []string{"p"}, "", []string{VerbSlow}, 2, true},
		{8, Room, "followup", []string{"p"}, "", []string{""}, 3, false},
	} {
		for n := range k.count {
			l.sessions = append(l.sessions, k.conversation(n))
		}
	}
	return l
}

// conversation is the nth of a kind.
func (k kind) conversation(n int) *conversation {
	c := &conversation{kind: k, open: map[string]bool{}}
	if k.chat != "" {
		c.chat = fmt.Sprintf("%s%d", k.chat, n)
	}
	c.from = nil
	for _, name := range k.from {
		c.from = append(c.from, fmt.Sprintf("%s%d", name, n))
	}
	return c
}

// Run says things until talking ends, and answers what is asked until ctx ends.
func (l *Load) Run(ctx context.Context, talking <-chan struct{}, rng *rand.Rand) error {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { l.follow(ctx, &all) })
	tick := time.NewTicker(time.Second / time.Duration(l.rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-talking:
			<-ctx.Done()
			return nil
		case <-tick.C:
			c, verb, stop := l.next(rng)
			if c == nil {
				continue // everybody waits
			}
			all.Go(func() { l.speak(ctx, c, verb, stop) })
		}
	}
}

// next chooses who says what.
func (l *Load) next(rng *rand.Rand) (c *conversation, verb string, stop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 10 {
		c := l.sessions[rng.IntN(len(l.sessions))]
		if len(c.open) < c.most {
			c.open[fmt.Sprint("promised-", rng.Uint64())] = true
			return c, c.verbs[rng.IntN(len(c.verbs))], c.stops && rng.IntN(3) == 0
		}
	}
	return nil, "", false
}

func (l *Load) speak(ctx context.Context, c *conversation, verb string, stop bool) {
	c.sending.Lock()
	defer c.sending.Unlock()
	in := l.input(c, false)
	in.Text = in.ID
	if verb != "" {
		in.Text += " " + verb
	}
	l.say(ctx, c, in, "")
	if !stop {
		return
	}
	<-time.After(700 * time.Millisecond) // into the run
	order := l.input(c, true)
	order.Text = "/stop"
	l.say(ctx, c, order, "")
}

// input is the next message of a conversation; the caller holds sending.
func (l *Load) input(c *conversation, order bool) *check.Input {
	c.n++
	from := c.from[c.n%len(c.from)]
	session := c.channel + "-" + c.from[0]
	if c.chat != "" {
		session = c.channel + "-" + c.chat
	}
	return &check.Input{
		ID: fmt.Sprintf("%s-%d", session, c.n), Session: session, Channel: c.channel, From: from, Chat: c.chat, N: c.n, Queue: c.queue, Order: order,
	}
}

// say publishes a message until it is accepted, or ctx ends.
func (l *Load) say(ctx context.Context, c *conversation, in *check.Input, answers string) {
	data, err := json.Marshal(bus.Inbound{ID: in.ID, From: in.From, Chat: in.Chat, Group: in.Chat != "", Text: in.Text, Answers: answers})
	if err != nil {
		panic(err) // it is made of strings
	}
	if in.Channel == Room {
		in.Sent = time.Now()
		if l.platform.Say(ctx, in.ID, data) == nil {
			l.accept(c, in, 0) // the platform knows no sequence
		}
		return
	}
	msg := nats.NewMsg(bus.InboundPrefix + in.Channel)
	msg.Data = data
	msg.Header.Set(nats.MsgIdHdr, in.ID)
	in.Sent = time.Now()
	for ctx.Err() == nil {
		ack, err := l.publish(ctx, msg)
		if err == nil {
			l.accept(c, in, ack.Sequence)
			return
		}
		<-time.After(100 * time.Millisecond) // NATS is away
	}
}

func (l *Load) publish(ctx context.Context, msg *nats.Msg) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return l.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
}

func (l *Load) accept(c *conversation, in *check.Input, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.Seq, in.Accepted = seq, time.Now()
	l.inputs = append(l.inputs, in)
	for id := range c.open {
		if len(id) > 9 && id[:9] == "promised-" && !in.Order {
			delete(c.open, id)
			break
		}
	}
	if _, ended := l.ended[in.ID]; !ended && !in.Order {
		c.open[in.ID] = true
	}
}

// Inputs are the messages that were accepted so far.
func (l *Load) Inputs() []check.Input {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]check.Input, 0, len(l.inputs))
	for _, in := range l.inputs {
		list = append(list, *in)
	}
	return list
}

// Open are the ids of accepted messages that have no end yet.
func (l *Load) Open() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []string
	for _, c := range l.sessions {
		for id := range c.open {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// Counts are how many messages were accepted, and have their end.
func (l *Load) Counts() (accepted, ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.inputs), len(l.ended)
}

// follow reads what agents say, until ctx ends.
func (l *Load) follow(ctx context.Context, all *sync.WaitGroup) {
	_ = records.FollowStream(ctx, l.js, records.Following{ // it ends with ctx
		Stream: bus.OutboundStream, Patient: true,
		Take: func(msg jetstream.Msg, _ *jetstream.MsgMetadata) error {
			out := bus.Outbound{}
			if json.Unmarshal(msg.Data(), &out) == nil {
				l.hear(ctx, out, all)
			}
			return nil
		},
	})
}

func (l *Load) hear(ctx context.Context, out bus.Outbound, all *sync.WaitGroup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if out.Final {
		for _, id := range check.Answered(out) {
			l.ended[id] = time.Now()
			for _, c := range l.sessions {
				delete(c.open, id)
			}
		}
		return
	}
	if out.Kind != bus.KindApproval || l.approve[out.Call] {
		return
	}
	l.approve[out.Call] = true
	for _, c := range l.sessions {
		if c.channel == Asking && c.from[0] == out.To {
			all.Go(func() {
				c.sending.Lock()
				defer c.sending.Unlock()
				in := l.input(c, true)
				in.Text = "approve"
				l.say(ctx, c, in, out.Call)
			})
		}
	}
}
