package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
)

// A Page is which sessions to list: of Agent, or of all when it is empty, at
// most Limit of them (50), the newest first of those whose last commit is
// before sequence Before; 0: of all.
type Page struct {
	Agent  string `json:"agent,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Before uint64 `json:"after,omitempty"`
	// Since leaves out those whose last commit is older; zero: none.
	Since time.Time `json:"since,omitzero"`
}

// A Listing is a page of sessions. After is the Before of the next page, 0 when
// there is none.
type Listing struct {
	Sessions []Summary `json:"sessions"`
	After    uint64    `json:"after,omitempty"`
}

const (
	defaultPage = 50
	mostPage    = 1000
	atOnce      = 8 // sessions of a page that are read beside each other
	titleRunes  = 60
)

// List lists sessions, the one last written to first. It reads the last place
// of every log, without what is written there, and only of those on the page
// more: the snapshot, the commits since, and the first one.
func (a *Archive) List(ctx context.Context, p Page) (Listing, error) {
	var heads []records.Record
	filter := Subject(cmp.Or(p.Agent, "*"), "*")
	err := records.Heads(ctx, a.js, bus.SessionsStream, filter, true, func(rec records.Record) {
		if (p.Before == 0 || rec.Seq < p.Before) && !rec.Time.Before(p.Since) {
			heads = append(heads, rec)
		}
	})
	list := Listing{Sessions: []Summary{}}
	if err != nil {
		return list, err
	}
	limit := min(cmp.Or(max(p.Limit, 0), defaultPage), mostPage)
	if len(heads) > limit {
		heads = heads[len(heads)-limit:]
		list.After = heads[0].Seq
	}
	list.Sessions = make([]Summary, len(heads))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, rec := range heads {
		slots <- struct{}{}
		group.Go(func() {
			list.Sessions[len(heads)-1-i] = a.summary(ctx, rec)
			<-slots
		})
	}
	group.Wait()
	return list, ctx.Err()
}

func (a *Archive) summary(ctx context.Context, rec records.Record) Summary {
	agent, sid, _ := strings.Cut(strings.TrimPrefix(rec.Subject, subjectPrefix), ".")
	_, s, err := a.State(ctx, agent, sid)
	if err == nil {
		s.Title, err = a.title(ctx, rec.Subject)
	}
	s.Seq, s.At = rec.Seq, rec.Time.UTC() // as it was listed, so that pages join
	if err != nil {
		s.Fault = err.Error()
	}
	return s
}

// title is how the first message of a log begins.
func (a *Archive) title(ctx context.Context, subject string) (string, error) {
	rec, err := a.store.Reader.Next(ctx, bus.SessionsStream, subject, 1)
	if err != nil {
		return "", err
	}
	c, err := a.store.decode(ctx, rec.Data)
	if err != nil && !errors.Is(err, errForeign) {
		return "", err
	}
	for _, e := range c.Events {
		if e.Type == run.MessageAdded && e.Message != nil && e.Message.Role == "user" {
			return headline(e.Message.Text()), nil
		}
	}
	return "", nil
}

func headline(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > titleRunes {
		return string(runes[:titleRunes]) + "…"
	}
	return text
}

// Of lists the keys of the direct conversations of a person with an agent.
func (a *Archive) Of(ctx context.Context, agent, person string) ([]Key, error) {
	var keys []Key
	suffix := "/dm/" + escapeID.Replace(person)
	err := records.Heads(ctx, a.js, bus.SessionsStream, Subject(agent, "*"), false, func(rec records.Record) {
		c := struct{ Key Key }{}
		if json.Unmarshal(rec.Data, &c) == nil && strings.HasSuffix(string(c.Key), suffix) {
			keys = append(keys, c.Key)
		}
	})
	return keys, err
}
