package doors

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// Anonymous is the sender of a message that names none.
const Anonymous = "anonymous"

// A Request is a message for an agent.
type Request struct {
	Agent string
	// Instance is the name of the token by which it came; empty: of none.
	Instance string
	// Conversation names the session in its door and instance; empty: that of From.
	Conversation string
	// ID names the message in its session: sent again, it gets the same reply and is
	// handled once. Empty: one of its own.
	ID string
	// First says that the ID is new: nothing is looked for that came of it before.
	First bool
	// Also are the messages of a run that waits, which this one may answer: what ends
	// one of them ends this one.
	Also []string
	From string // empty: Anonymous
	Name string
	Text string

	Media []bus.Media
	// History is what was said before, for a session that is new.
	History []bus.Turn
	// Tools are those that the client runs itself; Answers is the call of one, or of a
	// question, that the message is the answer to.
	Tools   []bus.ClientTool
	Answers string
	Meta    map[string]any
}

// files are the attachments of the message and of its history.
func (r Request) files() []bus.Media {
	list := slices.Clone(r.Media)
	for _, t := range r.History {
		list = append(list, t.Media...)
	}
	return list
}

// A Place is a session at a door.
type Place struct {
	Agent, Instance, Conversation, From string
}

// Place is where the message goes.
func (r Request) Place() Place {
	return Place{Agent: r.Agent, Instance: r.Instance, Conversation: r.Conversation, From: r.From}
}

// key is the key of the session.
func (p Place) key(door string) session.Key {
	return session.DM(door, p.Instance, cmp.Or(p.Conversation, p.From, Anonymous))
}

func (p Place) subject(door string) string {
	if p.Instance == "" {
		return bus.InboundPrefix + door
	}
	return bus.InboundPrefix + door + "." + p.Instance
}

// message is what is published in a session. One that cannot be published wraps
// bus.ErrMalformed.
func (p Place) message(door string, in bus.Inbound) (*nats.Msg, error) {
	in.ID = cmp.Or(in.ID, nuid.Next())
	in.Agent, in.From, in.Conversation = p.Agent, cmp.Or(p.From, Anonymous), p.Conversation
	for what, text := range map[string]string{"text": in.Text, "from": in.From, "conversation": in.Conversation, "id": in.ID} {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("%w: its %s is not UTF-8", bus.ErrMalformed, what)
		}
		if strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%w: its %s holds a NUL character", bus.ErrMalformed, what)
		}
	}
	if n := len(in.ID); n > bus.LongestID {
		return nil, fmt.Errorf("%w: its id has %d bytes; want at most %d", bus.ErrMalformed, n, bus.LongestID)
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", bus.ErrMalformed, err)
	}
	if _, err := bus.DecodeInbound(data); err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: p.subject(door), Header: nats.Header{}, Data: data}
	msg.Header.Set("Content-Type", "application/json")
	// An id counts in its session: the stream's counts everywhere.
	sum := sha256.Sum256([]byte(in.ID)) // which may hold what a header may not
	msg.Header.Set(nats.MsgIdHdr, session.SID(p.Agent, p.key(door))+":"+hex.EncodeToString(sum[:]))
	return msg, nil
}
