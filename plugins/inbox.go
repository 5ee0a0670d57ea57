package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"agenthost/bus"
	"agenthost/internal/crash"
	"agenthost/plugins/settings"

	"github.com/nats-io/nats.go"
)

// An Inbox takes what people write on one account. It is safe for concurrent use.
type Inbox struct {
	courier *Courier
}

// Connected says that the account is logged in, and under which name.
func (in *Inbox) Connected(as string) {
	if t := in.courier.term.Load(); t != nil {
		t.connected(as)
	}
}

// Take stores a message and returns once JetStream has it. While NATS is away it
// waits until ctx ends. An error that wraps ErrMalformed or ErrTooLarge is for
// good: the message cannot be taken. A message of a group that is not for the
// agent, as the settings have it, is taken and goes nowhere.
func (in *Inbox) Take(ctx context.Context, m Received) error {
	err := in.take(ctx, m)
	if m.Raw == nil && (errors.Is(err, ErrMalformed) || errors.Is(err, ErrTooLarge)) { // who writes envelopes is told
		in.Refused(m, err)
	}
	return err
}

func (in *Inbox) take(ctx context.Context, m Received) error {
	c := in.courier
	if m.Raw == nil && !c.wants(&m) {
		return nil
	}
	msg, err := c.inboundMessage(ctx, m)
	if err != nil {
		return err
	}
	if limit := int(c.parts.NC.MaxPayload()); limit > 0 && len(msg.Data) > limit-headroom {
		return fmt.Errorf("%w: it has %d bytes, NATS takes %d", ErrTooLarge, len(msg.Data), limit-headroom)
	}
	crash.Point("before-take")
	if _, err := c.parts.Publisher.PublishWait(ctx, msg); err != nil {
		if errors.Is(err, nats.ErrMaxPayload) {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
		return fmt.Errorf("take message: %w", err)
	}
	crash.Point("after-take")
	c.status.change(func(s *Status) { s.In++ })
	return nil
}

// Refused warns in the log of a message that no agent gets, and says why. Take does so itself. Of
// many at once the log has a few.
func (in *Inbox) Refused(m Received, why error) {
	in.courier.refused.Warn().Err(why).Str("id", logged(m.ID)).Str("from", logged(m.From)).Msg("message is refused: no agent gets it")
}

// longestLogged is how many bytes the log has of what a platform says.
const longestLogged = 256

func logged(text string) string { return strings.ToValidUTF8(text[:min(len(text), longestLogged)], "") }

// wants reports whether the agents get a message, as the settings have it. What a
// person presses or says to a message of the agent always counts.
func (c *Courier) wants(m *Received) bool {
	if !m.Group || m.Pressed != "" {
		return true
	}
	switch c.account.Settings.Groups {
	case settings.GroupsAll:
		return true
	case settings.GroupsOff:
		return false
	}
	return m.Mentioned
}

// inboundMessage stores the files of a message and encodes it.
func (c *Courier) inboundMessage(ctx context.Context, m Received) (*nats.Msg, error) {
	if m.Raw != nil {
		return c.rawMessage(m)
	}
	if m.ID == "" {
		return nil, fmt.Errorf("%w: it has no id", ErrMalformed)
	}
	env := bus.Inbound{
		ID: m.ID, From: m.From, Name: m.Name, Chat: m.Chat, Group: m.Group, Thread: m.Thread, Text: clean(m.Text),
		ReplyTo: m.ReplyTo, Edits: m.Edits, Meta: m.Meta,
	}
	if !m.SentAt.IsZero() {
		env.SentAt = m.SentAt.UTC().Format(time.RFC3339Nano)
	}
	if n := lineNumber(env.Said()); n > 0 && c.limits.Buttons == 0 {
		env.Meta = withOption(env.Meta, n)
	}
	if m.Pressed != "" {
		if err := c.readButton(ctx, m.Pressed, &env); err != nil {
			return nil, err
		}
	}
	if err := c.storeFiles(ctx, m.Files, &env); err != nil {
		return nil, err
	}
	data, err := json.Marshal(env)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	msg, _, err := c.newInbound(data)
	return msg, err
}

// rawMessage is the message of another side that writes envelopes itself. The id of
// the transport names one that has none. Its own is unique in the session, where that of
// a platform is in the chat.
func (c *Courier) rawMessage(m Received) (*nats.Msg, error) {
	msg, env, err := c.newInbound(m.Raw)
	if err == nil {
		err = env.CheckIDs() // a platform cannot do better, but who writes an envelope can
	}
	if err != nil {
		return nil, err
	}
	switch id := msg.Header.Get(nats.MsgIdHdr); {
	case id != "":
		msg.Header.Set(nats.MsgIdHdr, id+sessionText(&env))
	case m.ID != "":
		msg.Header.Set(nats.MsgIdHdr, headerText(m.ID))
	}
	return msg, nil
}

// sessionText is what tells sessions of one chat apart.
func sessionText(env *bus.Inbound) (text string) {
	for _, part := range []struct{ name, value string }{{"thread", env.Thread}, {"conversation", env.Conversation}, {"agent", env.Agent}} {
		if part.value != "" {
			text += ":" + part.name + "=" + idText(part.value)
		}
	}
	return text
}

// newInbound makes the message that is published.
func (c *Courier) newInbound(data []byte) (*nats.Msg, bus.Inbound, error) {
	env, err := bus.DecodeInbound(data)
	if err != nil {
		return nil, env, err
	}
	msg := &nats.Msg{Subject: c.account.inbound(), Header: nats.Header{}, Data: data}
	if bus.IsObject(data) {
		msg.Header.Set("Content-Type", "application/json")
	}
	if env.ID != "" {
		msg.Header.Set(nats.MsgIdHdr, c.account.String()+":"+idText(orElse(env.Chat, env.From))+":"+idText(env.ID))
	}
	return msg, env, nil
}

// clean is a text as an envelope may have it.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// escapeColons keeps apart what stands between colons.
var escapeColons = strings.NewReplacer("%", "%25", ":", "%3A")

// idText is an id as one part of an id of the stream.
func idText(id string) string { return escapeColons.Replace(headerText(id)) }

// headerText is an id as a header may have it.
func headerText(id string) string {
	if strings.ContainsAny(id, "\r\n") || !utf8.ValidString(id) || strings.TrimSpace(id) != id {
		return hashed(id)
	}
	return id
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// storeFiles puts files where the agents find them. What is too large is left out,
// and the text says so.
func (c *Courier) storeFiles(ctx context.Context, files []File, env *bus.Inbound) error {
	limit := c.account.maxFile()
	for _, f := range files {
		size := max(f.Size, int64(len(f.Data)))
		m := bus.Media{Kind: orElse(f.Kind, fileKind(f.MIME)), MIME: f.MIME, Name: f.Name, Size: size, URL: f.URL}
		switch {
		case size > limit || len(f.Data) == 0 && f.URL == "":
			env.Text = strings.TrimLeft(env.Text+"\n"+leftOut(f, size, limit), "\n")
			continue
		case len(f.Data) > 0:
			object, err := c.parts.Files.Put(ctx, f.Data)
			if err != nil {
				return fmt.Errorf("take message: %w", err)
			}
			m.Object, m.URL = object, ""
		}
		env.Media = append(env.Media, m)
	}
	return nil
}

func leftOut(f File, size, limit int64) string {
	name := orElse(f.Name, "without a name")
	switch {
	case size > limit:
		return fmt.Sprintf("[file %s left out: %s, more than the %s allowed]", name, sizeText(size), sizeText(limit))
	case f.Data != nil:
		return fmt.Sprintf("[file %s left out: it is empty]", name)
	}
	return fmt.Sprintf("[file %s left out: it could not be loaded]", name)
}

// fileKind is the kind of a file of that MIME type.
func fileKind(mime string) string {
	switch kind, _, _ := strings.Cut(mime, "/"); kind {
	case "image", "audio", "video":
		return kind
	}
	return "file"
}

// MaxFile is how large a file of a message may be.
func (in *Inbox) MaxFile() int64 { return in.courier.account.maxFile() }

// Ready reports whether NATS would store a message now.
func (in *Inbox) Ready() bool {
	return in.courier.parts.NC.IsConnected() && in.courier.parts.Publisher.Stuck() == nil
}

// Note reads what SetNote has kept under a name; nil: nothing. Every host sees it.
func (in *Inbox) Note(ctx context.Context, name string) ([]byte, error) {
	n := in.courier.notes
	return n.read(ctx, n.channelKey(name))
}

// SetNote keeps a few bytes for the account, such as how far it has read.
func (in *Inbox) SetNote(ctx context.Context, name string, value []byte) error {
	n := in.courier.notes
	crash.Point("before-note")
	err := n.write(ctx, n.channelKey(name), value, 0)
	crash.Point("after-note")
	return err
}

// SetNoteFor is SetNote for what is of no use after a while.
func (in *Inbox) SetNoteFor(ctx context.Context, name string, value []byte, keep time.Duration) error {
	n := in.courier.notes
	return n.write(ctx, n.channelKey(name), value, keep)
}

// KeepNoteFor is SetNoteFor unless there is a note of that name, on whichever host. It
// returns the one that there is, and since when.
func (in *Inbox) KeepNoteFor(ctx context.Context, name string, value []byte, keep time.Duration) (note []byte, since time.Time, err error) {
	n := in.courier.notes
	return n.keep(ctx, n.channelKey(name), value, keep)
}
