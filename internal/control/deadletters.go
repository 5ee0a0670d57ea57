package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"agenthost/client"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The subjects by which programs list, read, retry and purge dead letters.
const (
	DeadLettersSubject = "agenthost.dead.ls"
	ShowDeadSubject    = "agenthost.dead.show"
	RetryDeadSubject   = "agenthost.dead.retry"
	PurgeDeadSubject   = "agenthost.dead.purge"
)

// A DeadPage says which dead letters to list: of Agent, or of all when it is
// empty, at most Limit of them (50), the oldest first of those whose number is
// above After.
type DeadPage struct {
	Agent string `json:"agent,omitempty"`
	Limit int    `json:"limit,omitempty"`
	After uint64 `json:"after,omitempty"`
}

// A DeadListing is a page of dead letters, without their headers and messages.
// After is that of the next page, 0 when there is none.
type DeadListing struct {
	Letters []client.DeadLetter `json:"letters"`
	After   uint64              `json:"after,omitempty"`
}

// A DeadNumber names a dead letter.
type DeadNumber struct {
	DeadSeq uint64 `json:"dead_seq"`
}

// A DeadChoice says which dead letters something is done to: those with these
// numbers, or all on a page.
type DeadChoice struct {
	DeadSeqs []uint64 `json:"dead_seqs,omitempty"`
	All      bool     `json:"all,omitempty"`
	DeadPage
}

// A DeadOutcome is what was done to which dead letters. After is that of the
// next page of them, 0 when there is none.
type DeadOutcome struct {
	Retried []client.Retried `json:"retried,omitempty"`
	Deleted []uint64         `json:"deleted,omitempty"`
	Failed  []Undone         `json:"failed,omitempty"`
	After   uint64           `json:"after,omitempty"`
}

// An Undone is a dead letter to which nothing was done, and why.
type Undone struct {
	DeadSeq uint64 `json:"dead_seq"`
	Error   string `json:"error"`
}

const (
	defaultLetters = 50
	mostLetters    = 1000
	deadHeadroom   = 1 << 10 // of an answer, for what is around the letters
)

// deadLetters carries out the operations on dead letters.
type deadLetters struct {
	js jetstream.JetStream
	nc *nats.Conn
}

// list reads a page. It ends early where the answer would not fit into a
// message.
func (u *deadLetters) list(ctx context.Context, p DeadPage) (DeadListing, error) {
	list := DeadListing{Letters: []client.DeadLetter{}}
	g, err := client.OpenDeadLetters(ctx, u.js)
	if err != nil {
		return list, err
	}
	limit, room := min(cmp.Or(max(p.Limit, 0), defaultLetters), mostLetters), u.room()
	for l, err := range g.Letters(ctx, p.Agent, p.After) {
		if err != nil {
			return list, err
		}
		if !callerOf(ctx).reaches(l.Agent) {
			continue
		}
		l.Header, l.Payload, l.Base64 = nil, "", nil
		data, err := json.Marshal(l)
		if err != nil {
			return list, fmt.Errorf("encode dead letter %d: %w", l.DeadSeq, err)
		}
		room -= len(data) + len(",")
		if n := len(list.Letters); n == limit || n > 0 && room < 0 {
			list.After = list.Letters[n-1].DeadSeq
			break
		}
		list.Letters = append(list.Letters, l)
	}
	return list, nil
}

func (u *deadLetters) room() int { return int(u.nc.MaxPayload()) - deadHeadroom }

func (u *deadLetters) show(ctx context.Context, n DeadNumber) (client.DeadLetter, error) {
	g, err := client.OpenDeadLetters(ctx, u.js)
	if err != nil {
		return client.DeadLetter{}, err
	}
	l, err := visible(ctx, g, n.DeadSeq)
	if err == nil && !l.Omitted {
		l.SetPayload(l.Data(), u.room())
	}
	return l, err
}

// chosen are the numbers of a choice, and the After of the next ones. One that
// does not exist is an error, before anything is done.
func (u *deadLetters) chosen(ctx context.Context, g *client.DeadLetters, c DeadChoice) (seqs []uint64, after uint64, err error) {
	switch {
	case c.All == (len(c.DeadSeqs) > 0):
		return nil, 0, coded(client.CodeBad, "which dead letters? want either their numbers, dead_seqs, or all, of an agent or not")
	case len(c.DeadSeqs) > mostLetters:
		return nil, 0, coded(client.CodeBad, "%d dead letters are too many for one request; want %d at most", len(c.DeadSeqs), mostLetters)
	case c.All:
		list, err := u.list(ctx, c.DeadPage)
		for _, l := range list.Letters {
			seqs = append(seqs, l.DeadSeq)
		}
		return seqs, list.After, err
	}
	for _, seq := range c.DeadSeqs {
		if _, err := visible(ctx, g, seq); err != nil {
			return nil, 0, err
		}
	}
	return c.DeadSeqs, 0, nil
}

// visible reads a dead letter that the caller may see.
func visible(ctx context.Context, g *client.DeadLetters, seq uint64) (client.DeadLetter, error) {
	l, err := g.Get(ctx, seq)
	if err == nil && !callerOf(ctx).reaches(l.Agent) {
		return client.DeadLetter{}, fmt.Errorf("%w %d", client.ErrNoDeadLetter, seq)
	}
	return l, err
}

// each does something to each letter of a choice, and goes on after one to which
// it cannot be done.
func (u *deadLetters) each(ctx context.Context, c DeadChoice, do func(g *client.DeadLetters, seq uint64, out *DeadOutcome) error) (DeadOutcome, error) {
	g, err := client.OpenDeadLetters(ctx, u.js)
	if err != nil {
		return DeadOutcome{}, err
	}
	seqs, after, err := u.chosen(ctx, g, c)
	out := DeadOutcome{After: after}
	if err != nil {
		return out, err
	}
	for _, seq := range seqs {
		if err := do(g, seq, &out); err != nil {
			out.Failed = append(out.Failed, Undone{seq, err.Error()})
		}
	}
	return out, nil
}

func (u *deadLetters) retry(ctx context.Context, c DeadChoice) (DeadOutcome, error) {
	return u.each(ctx, c, func(g *client.DeadLetters, seq uint64, out *DeadOutcome) error {
		l, err := g.Get(ctx, seq)
		if err != nil {
			return err
		}
		r, err := g.Retry(ctx, l)
		if err == nil {
			out.Retried = append(out.Retried, r)
		}
		return err
	})
}

func (u *deadLetters) purge(ctx context.Context, c DeadChoice) (DeadOutcome, error) {
	return u.each(ctx, c, func(g *client.DeadLetters, seq uint64, out *DeadOutcome) error {
		err := g.Delete(ctx, seq)
		if err == nil {
			out.Deleted = append(out.Deleted, seq)
		}
		return err
	})
}
