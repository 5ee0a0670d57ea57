package session

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// A Spent is what the models of one commit have cost, in micro-cents.
type Spent struct {
	Agent string
	Key   Key
	Cost  int64
}

// Spent reads what the sessions of an agent, or of all when it is empty, have spent
// since a time, commit by commit. It reads all that was written since.
func (a *Archive) Spent(ctx context.Context, agent string, since time.Time) iter.Seq2[Spent, error] {
	return func(yield func(Spent, error) bool) {
		for rec, err := range a.store.Reader.Since(ctx, bus.SessionsStream, Subject(cmp.Or(agent, "*"), "*"), since) {
			if err != nil {
				yield(Spent{}, err)
				return
			}
			c, err := a.store.decode(ctx, rec)
			if err != nil {
				continue // no host has written it, or it is damaged
			}
			of, _, _ := strings.Cut(strings.TrimPrefix(rec.Subject, subjectPrefix), ".")
			s := Spent{Agent: of, Key: c.Key}
			for _, e := range c.Events {
				if e.Type == run.ModelCalled {
					s.Cost = llm.Sum(s.Cost, e.Cost)
				}
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
