package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
)

// A Search is what to look for in the texts of sessions: of Agent, or of all
// when it is empty, in commits that are not older than Since.
type Search struct {
	Text  string // in any case of letters
	Agent string
	Since time.Time
}

// A Hit is an event with the text that was looked for.
type Hit struct {
	Agent string    `json:"agent"`
	SID   string    `json:"sid"`
	Key   Key       `json:"key"`
	Seq   uint64    `json:"seq"` // of the commit
	N     int       `json:"n"`   // in it
	At    time.Time `json:"at"`
	Who   string    `json:"who"`  // user, a person's name, agent, or the tool
	Text  string    `json:"text"` // all that was said there
}

// Find looks through the logs, the oldest commit first. It reads all of them: an
// error ends it, a commit that cannot be read is passed over.
func (a *Archive) Find(ctx context.Context, s Search) iter.Seq2[Hit, error] {
	want := strings.ToLower(s.Text)
	return func(yield func(Hit, error) bool) {
		for rec, err := range a.store.Reader.Tail(ctx, bus.SessionsStream, Subject(cmp.Or(s.Agent, "*"), "*"), 1) {
			if err != nil {
				yield(Hit{}, fmt.Errorf("search sessions: %w", err))
				return
			}
			if rec.Time.Before(s.Since) {
				continue
			}
			c, err := a.store.decode(ctx, rec)
			if err != nil {
				continue
			}
			for i, e := range c.Events {
				who, text := said(e)
				if text == "" || !strings.Contains(strings.ToLower(text), want) {
					continue
				}
				agent, sid, _ := strings.Cut(strings.TrimPrefix(rec.Subject, subjectPrefix), ".")
				if !yield(Hit{agent, sid, c.Key, rec.Seq, i + 1, e.At.UTC(), who, text}, nil) {
					return
				}
			}
		}
	}
}

// said is who says what in an event, empty when nothing is said there.
func said(e run.Event) (who, text string) {
	switch {
	case e.Type == run.MessageAdded && e.Message != nil && e.Message.Role == "user":
		return cmp.Or(e.Message.Name, "user"), e.Message.Text()
	case e.Type == run.MessageAdded && e.Message != nil && e.Message.Role == "assistant":
		return "agent", e.Message.Text()
	case (e.Type == run.InputAdded || e.Type == run.OperatorHeard) && e.Message != nil:
		return "user", e.Message.Text()
	case e.Type == run.OperatorSaid && e.Message != nil:
		return cmp.Or(e.By, "operator"), e.Message.Text()
	case e.Type == run.ToolFinished:
		return e.Name, e.Result
	case e.Type == run.ApprovalAsked, e.Type == run.QuestionAsked:
		return "agent", e.Prompt
	case e.Type == run.Compacted:
		return "summary", e.Summary
	}
	return "", ""
}

// Has reports whether there is a log.
func (a *Archive) Has(ctx context.Context, agent, sid string) (bool, error) {
	_, err := a.store.Reader.Last(ctx, bus.SessionsStream, Subject(agent, sid))
	if errors.Is(err, records.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Keys are those of all sessions of an agent, by their names in subjects.
func (a *Archive) Keys(ctx context.Context, agent string) (map[string]Key, error) {
	keys := map[string]Key{}
	err := records.Heads(ctx, a.js, bus.SessionsStream, Subject(agent, "*"), false, func(rec records.Record) {
		if key := keyOf(rec.Data); key != "" {
			keys[strings.TrimPrefix(rec.Subject, Subject(agent, ""))] = key
		}
	})
	return keys, err
}
