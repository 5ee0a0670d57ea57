package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/internal/audit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DeadLetters are the dead letters of a fleet.
type DeadLetters struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	reader *records.Reader
	signer *signing.Signer // nil: no host has made a key
	note   func(context.Context, audit.Entry)
}

// A DeadLetter is a bus.DeadLetter with its number.
type DeadLetter struct {
	DeadSeq uint64 `json:"dead_seq"`
	bus.DeadLetter
}

// A Retried says where the message of a dead letter is now.
type Retried struct {
	DeadSeq uint64 `json:"dead_seq"`
	Subject string `json:"subject"`
	Stream  string `json:"stream"`
	Seq     uint64 `json:"seq"`
}

// ErrNoDeadLetter is the error of a number that no dead letter has.
var ErrNoDeadLetter = errors.New("no dead letter")

// DeadLetters are the dead letters of the fleet.
func (c *Client) DeadLetters(ctx context.Context) (*DeadLetters, error) {
	g, err := OpenDeadLetters(ctx, c.js)
	if err == nil {
		g.note = c.note
	}
	return g, err
}

// OpenDeadLetters finds the dead letters on js.
func OpenDeadLetters(ctx context.Context, js jetstream.JetStream) (*DeadLetters, error) {
	stream, err := js.Stream(ctx, bus.DeadStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("no stream %s: no host has run on this NATS yet", bus.DeadStream)
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", bus.DeadStream, err)
	}
	signer, err := signing.Read(ctx, js)
	if err != nil && !errors.Is(err, records.ErrNotFound) {
		return nil, err
	}
	return &DeadLetters{js, stream, records.NewReader(js), signer, func(context.Context, audit.Entry) {}}, nil
}

// Letters are those of agent, or of all when it is empty, the oldest first,
// whose number is above after. An error ends them.
func (g *DeadLetters) Letters(ctx context.Context, agent string, after uint64) iter.Seq2[DeadLetter, error] {
	subject := bus.DeadSubject(agent)
	if agent == "" {
		subject = bus.DeadSubject(">")
	}
	return func(yield func(DeadLetter, error) bool) {
		for {
			rec, err := g.reader.Next(ctx, bus.DeadStream, subject, after+1)
			if errors.Is(err, records.ErrNotFound) {
				return
			}
			if err != nil {
				yield(DeadLetter{}, fmt.Errorf("list dead letters: %w", err))
				return
			}
			if after = rec.Seq; !yield(decodeDeadLetter(rec), nil) {
				return
			}
		}
	}
}

// All are the Letters of agent in a list.
func (g *DeadLetters) All(ctx context.Context, agent string) ([]DeadLetter, error) {
	list := []DeadLetter{}
	for l, err := range g.Letters(ctx, agent, 0) {
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// Get reads the letter with number seq.
func (g *DeadLetters) Get(ctx context.Context, seq uint64) (DeadLetter, error) {
	if seq == 0 {
		return DeadLetter{}, fmt.Errorf("%w %d", ErrNoDeadLetter, seq)
	}
	rec, err := g.reader.Get(ctx, bus.DeadStream, seq)
	if errors.Is(err, records.ErrNotFound) {
		return DeadLetter{}, fmt.Errorf("%w %d", ErrNoDeadLetter, seq)
	}
	if err != nil {
		return DeadLetter{}, fmt.Errorf("read dead letter %d: %w", seq, err)
	}
	return decodeDeadLetter(rec), nil
}

// Find finds the newest letter with an id: a letter that was retried and died again, or that is
// as old as the stream remembers ids, may have that of one before it.
func (g *DeadLetters) Find(ctx context.Context, id string) (found DeadLetter, err error) {
	for l, err := range g.Letters(ctx, "", 0) {
		if err != nil {
			return DeadLetter{}, err
		}
		if l.ID == id {
			found = l
		}
	}
	if found.DeadSeq == 0 {
		return found, fmt.Errorf("%w %q", ErrNoDeadLetter, id)
	}
	return found, nil
}

// Delete deletes the letter with number seq for good.
func (g *DeadLetters) Delete(ctx context.Context, seq uint64) error {
	err := g.delete(ctx, seq)
	if err == nil {
		g.note(ctx, audit.Entry{Action: "dead-purge", Target: strconv.FormatUint(seq, 10)})
	}
	return err
}

func (g *DeadLetters) delete(ctx context.Context, seq uint64) error {
	if err := g.stream.DeleteMsg(ctx, seq); err != nil {
		return fmt.Errorf("delete dead letter %d: %w", seq, err)
	}
	return nil
}

// decodeDeadLetter reads a dead letter. A message of another program there is shown as it is.
func decodeDeadLetter(rec records.Record) DeadLetter {
	l := DeadLetter{DeadSeq: rec.Seq}
	if err := json.Unmarshal(rec.Data, &l.DeadLetter); err != nil {
		l.DeadLetter = bus.DeadLetter{Reason: "this is no dead letter of a host: " + err.Error(), At: rec.Time}
		l.SetPayload(rec.Data, 2*len(rec.Data))
	}
	l.Agent = strings.TrimPrefix(rec.Subject, bus.DeadSubject(""))
	return l
}

// Retry publishes the message of l and then deletes the letter. Between the two
// the stream's window knows the message, so that a second retry adds nothing.
func (g *DeadLetters) Retry(ctx context.Context, l DeadLetter) (Retried, error) {
	if l.Subject == "" || strings.ContainsAny(l.Subject, " \t\r\n*>") {
		return Retried{}, errors.New("the dead letter does not name the subject of its message")
	}
	data, err := g.message(ctx, l)
	if err != nil {
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
	signed := g.signer.Verify(l.Subject, msg.Header, data)
	if msg.Data = data; l.Attempts > 0 {
		msg.Data = renamed(data, id)
	}
	if signed {
		g.signer.Sign(msg)
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
