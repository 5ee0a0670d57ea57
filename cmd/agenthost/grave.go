package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// sequence reads the number of a dead letter.
func sequence(arg string) (uint64, error) {
	seq, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || seq == 0 {
		return 0, usage("dead letter %q: want its number, as ls shows it", arg)
	}
	return seq, nil
}

// A grave is where dead letters are kept.
type grave struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// A deadLetter is a bus.DeadLetter with its number.
type deadLetter struct {
	DeadSeq uint64 `json:"dead_seq"`
	bus.DeadLetter
}

// withGrave calls do with the dead letters of the fleet.
func (a *app) withGrave(ctx context.Context, do func(*grave) error) error {
	nc, js, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	stream, err := js.Stream(ctx, bus.DeadStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("no stream %s: no host has run on this NATS yet", bus.DeadStream)
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", bus.DeadStream, err)
	}
	return do(&grave{js, stream})
}

// of is all that was published on subject, oldest first.
func (g *grave) of(ctx context.Context, subject string) ([]deadLetter, error) {
	list := []deadLetter{}
	for seq := uint64(1); ; seq++ {
		msg, err := g.stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list dead letters: %w", err)
		}
		seq = msg.Sequence
		list = append(list, read(msg))
	}
}

// graveSubject is the subject of all dead letters, or of those of the agent
// that args name.
func graveSubject(args []string) (string, error) {
	if len(args) == 0 {
		return bus.DeadSubject(">"), nil
	}
	return bus.DeadSubject(args[0]), checkAgent(args[0])
}

func (g *grave) get(ctx context.Context, seq uint64) (deadLetter, error) {
	msg, err := g.stream.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return deadLetter{}, fmt.Errorf("no dead letter %d", seq)
	}
	if err != nil {
		return deadLetter{}, fmt.Errorf("read dead letter %d: %w", seq, err)
	}
	return read(msg), nil
}

func (g *grave) delete(ctx context.Context, seq uint64) error {
	if err := g.stream.DeleteMsg(ctx, seq); err != nil {
		return fmt.Errorf("delete dead letter %d: %w", seq, err)
	}
	return nil
}

// read reads a dead letter. What somebody else put there is shown as it is.
func read(msg *jetstream.RawStreamMsg) deadLetter {
	l := deadLetter{DeadSeq: msg.Sequence}
	if err := json.Unmarshal(msg.Data, &l.DeadLetter); err != nil {
		l.DeadLetter = bus.DeadLetter{Reason: "this is no dead letter of a host: " + err.Error(), At: msg.Time}
		l.SetPayload(msg.Data, 2*len(msg.Data))
	}
	l.Agent = strings.TrimPrefix(msg.Subject, bus.DeadSubject(""))
	return l
}
