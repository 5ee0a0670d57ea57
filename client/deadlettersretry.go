package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/internal/audit"

	"github.com/nats-io/nats.go"
)

// Retry publishes the message of l for the agent of l alone, and then deletes the letter.
// Between the two the stream's window knows the message, so that a second retry adds
// nothing. Where hosts run and none serves that agent, it is an error and the letter stays:
// no lane would bring the message to it.
func (g *DeadLetters) Retry(ctx context.Context, l DeadLetter) (Retried, error) {
	if l.Subject == "" || strings.ContainsAny(l.Subject, " \t\r\n*>") {
		return Retried{}, errors.New("the dead letter does not name the subject of its message")
	}
	data, err := g.message(ctx, l)
	if err != nil {
		return Retried{}, err
	}
	if err := g.checkTaken(ctx, l); err != nil {
		return Retried{}, err
	}
	id := fmt.Sprintf("retry:%s:%d", l.ID, l.DeadSeq)
	msg := nats.NewMsg(l.Subject)
	for key, values := range l.Header {
		if !strings.HasPrefix(strings.ToLower(key), "nats-") {
			msg.Header[key] = values
		}
	}
	msg.Header.Set(nats.MsgIdHdr, id)
	setAddressee(msg, l.Agent)
	signer, err := g.signerOf(ctx, msg)
	if err != nil {
		return Retried{}, err
	}
	signed := signer.Verify(l.Subject, msg.Header, data)
	if msg.Data = data; l.Attempts > 0 {
		msg.Data = renamed(data, id)
	}
	if signed {
		signer.Sign(msg)
	}
	if msg.Header.Get("Content-Type") == "" && json.Valid(data) {
		msg.Header.Set("Content-Type", "application/json")
	}
	ack, err := g.js.PublishMsg(ctx, msg)
	if err != nil {
		return Retried{}, fmt.Errorf("publish on %s: %w", l.Subject, err)
	}
	g.note(ctx, audit.Entry{Action: "dead-retry", Agent: l.Agent, Target: strconv.FormatUint(l.DeadSeq, 10), Detail: l.Subject})
	return Retried{l.DeadSeq, l.Subject, ack.Stream, ack.Sequence}, g.delete(ctx, l.DeadSeq)
}

// signerOf verifies a message that has a signature; it is nil for others. An auditor, who lists
// letters, may not read the key.
func (g *DeadLetters) signerOf(ctx context.Context, msg *nats.Msg) (*signing.Signer, error) {
	if msg.Header.Get(signing.Header) == "" {
		return nil, nil //nolint:nilnil // a nil Signer verifies nothing
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.signer != nil {
		return g.signer, nil
	}
	signer, err := signing.Read(ctx, g.js)
	if errors.Is(err, records.ErrNotFound) {
		return nil, nil //nolint:nilnil // no host has made a key: the same
	}
	g.signer = signer
	return signer, err
}

// message is the message of a dead letter, which may be in its stream only.
func (g *DeadLetters) message(ctx context.Context, l DeadLetter) ([]byte, error) {
	if !l.Omitted {
		return l.Data(), nil
	}
	rec, err := g.reader.Get(ctx, l.Stream, l.Seq)
	if errors.Is(err, records.ErrNotFound) {
		return nil, fmt.Errorf("the message was too large to be kept, and %s does not have it any more", l.Stream)
	}
	if err != nil {
		return nil, fmt.Errorf("read message %d of %s: %w", l.Seq, l.Stream, err)
	}
	return rec.Data, nil
}

// renamed gives a message that was begun another id: its session knows the old
// one, and would only repeat that it failed.
func renamed(data []byte, id string) []byte {
	fields := map[string]json.RawMessage{}
	if !bus.IsObject(data) || json.Unmarshal(data, &fields) != nil || fields["id"] == nil {
		return data
	}
	name, err := json.Marshal(id)
	if err != nil {
		return data
	}
	fields["id"] = name
	all, err := json.Marshal(fields)
	if err != nil {
		return data
	}
	return all
}

// setAddressee makes a message on a channel one for agent alone: the others that are bound to
// it are done with it, or have letters of their own. What had no agent is for all that are
// bound to its channel now.
func setAddressee(msg *nats.Msg, agent string) {
	msg.Header.Del(bus.AddresseeHeader)
	if _, _, ok := bus.Channel(msg.Subject); ok && agent != bus.Unbound {
		msg.Header.Set(bus.AddresseeHeader, agent)
	}
}

// refusedFor is how long it is remembered that no host serves an agent: to be sure of that takes
// a while, and many letters may be of that agent.
const refusedFor = 5 * time.Second

// A refusal is why letters of an agent are not sent again on a subject.
type refusal struct {
	at  time.Time
	err error
}

// checkTaken checks that a host brings the message of l to the agent that it is for. Without any
// host that cannot be known, and the message waits for one.
func (g *DeadLetters) checkTaken(ctx context.Context, l DeadLetter) error {
	agent, ok := bus.AgentOf(l.Subject)
	if _, _, inbound := bus.Channel(l.Subject); inbound {
		agent, ok = l.Agent, true
	}
	if !ok { // a reply is for a plugin
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	key := agent + " " + l.Subject
	if r, ok := g.refused[key]; ok && time.Since(r.at) < refusedFor {
		return r.err
	}
	delete(g.refused, key)
	err := g.askTaken(ctx, agent, l.Subject)
	if _, ok := errors.AsType[notTakenError](err); ok {
		g.refused[key] = refusal{time.Now(), err}
	}
	return err
}

// A notTakenError says why no agent takes a message.
type notTakenError string

func (e notTakenError) Error() string { return string(e) }

// askTaken asks the hosts until one has an agent that takes what is on subject.
func (g *DeadLetters) askTaken(ctx context.Context, agent, subject string) error {
	c := &Client{nc: g.js.Conn()}
	hosts, err := c.patientHosts(ctx, func(h Status) bool { return h.takes(agent, subject) })
	switch {
	case err != nil:
		return err
	case len(hosts) == 0 || slices.ContainsFunc(hosts, func(h Status) bool { return h.takes(agent, subject) }):
		return nil
	}
	channel := strings.TrimPrefix(subject, bus.InboundPrefix)
	switch {
	case agent == bus.Unbound:
		return notTakenError(fmt.Sprintf("no agent is bound to %s; bind one, or purge the letter", channel))
	case !slices.Contains(hosts.Agents(), agent):
		return notTakenError(fmt.Sprintf("agent %s is not served by any host; configure it again, or purge the letter", agent))
	}
	return notTakenError(fmt.Sprintf("agent %s is not bound to %s; bind it again, or purge the letter", agent, channel))
}

// takes reports whether a host has an agent that takes what is on a subject: the agent itself,
// or any in place of bus.Unbound.
func (h Status) takes(agent, subject string) bool {
	return slices.ContainsFunc(h.Agents, func(a AgentStatus) bool {
		return (a.ID == agent || agent == bus.Unbound) && a.takes(subject)
	})
}

// takes reports whether the agent takes what is on a subject, if that is a channel's. Of an older
// host it is not known.
func (a AgentStatus) takes(subject string) bool {
	channel, instance, ok := bus.Channel(subject)
	switch {
	case !ok:
		return true
	case bus.IsDoor(channel):
		return a.Doors == nil || channel == bus.DoorProbe || slices.Contains(a.Doors, channel)
	case a.Channels == nil:
		return true
	case instance == "":
		return slices.Contains(a.Channels, channel)
	}
	return slices.Contains(a.Channels, channel+"."+instance) || slices.Contains(a.Channels, channel+".*")
}
