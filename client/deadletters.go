package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/internal/audit"

	"github.com/nats-io/nats.go/jetstream"
)

// DeadLetters are the dead letters of a fleet.
type DeadLetters struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	reader *records.Reader
	note   func(context.Context, audit.Entry)

	mu      sync.Mutex
	refused map[string]refusal // by agent and subject; guarded by mu
	signer  *signing.Signer    // guarded by mu; nil: not read, or no host has made a key
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
	return &DeadLetters{
		js: js, stream: stream, reader: records.NewReader(js),
		note: func(context.Context, audit.Entry) {}, refused: map[string]refusal{},
	}, nil
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
