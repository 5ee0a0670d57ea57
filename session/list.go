package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
	// Channel leaves out those of other channels, such as telegram.sales or telegram,
	// and State those that are not idle, running, waiting or operator. With either, a page may
	// hold fewer than Limit though there are more.
	Channel string `json:"channel,omitempty"`
	State   string `json:"state,omitempty"`
	// Among are the agents to list where Agent is empty; none: all.
	Among []string `json:"-"`
}

// keeps reports whether a session is one to list.
func (p Page) keeps(s Summary) bool {
	at, _, _ := strings.Cut(string(s.Key), "/")
	return (p.State == "" || s.State == p.State) && (p.Channel == "" || at == p.Channel || strings.HasPrefix(at, p.Channel+"."))
}

// has reports whether the agent of a log is one to list.
func (p Page) has(subject string) bool {
	agent, _, _ := strings.Cut(strings.TrimPrefix(subject, subjectPrefix), ".")
	return len(p.Among) == 0 || slices.Contains(p.Among, agent)
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
	mostLooked  = 2000 // sessions that are read for one page with a filter
)

// List lists sessions, the one last written to first. It reads the last place
// of every log, without what is written there, and only of those on the page
// more: the snapshot, the commits since, and the first one.
func (a *Archive) List(ctx context.Context, p Page) (Listing, error) {
	var heads []records.Record
	filter := Subject(cmp.Or(p.Agent, "*"), "*")
	err := records.Heads(ctx, a.js, bus.SessionsStream, filter, true, func(rec records.Record) {
		if (p.Before == 0 || rec.Seq < p.Before) && !rec.Time.Before(p.Since) && p.has(rec.Subject) {
			heads = append(heads, rec)
		}
	})
	list := Listing{Sessions: []Summary{}}
	if err != nil {
		return list, err
	}
	heads = newestOfEach(heads)
	limit := min(cmp.Or(max(p.Limit, 0), defaultPage), mostPage)
	for looked := 0; len(heads) > 0 && len(list.Sessions) < limit; {
		if list.After = heads[len(heads)-1].Seq + 1; looked >= mostLooked {
			return list, ctx.Err()
		}
		n := min(len(heads), limit-len(list.Sessions))
		for _, s := range a.summaries(ctx, heads[len(heads)-n:]) {
			if p.keeps(s) {
				list.Sessions = append(list.Sessions, s)
			}
		}
		list.After = heads[len(heads)-n].Seq
		heads, looked = heads[:len(heads)-n], looked+n
	}
	if len(heads) == 0 {
		list.After = 0
	}
	return list, ctx.Err()
}

// newestOfEach leaves of each log the last of its records: one that is written to while the heads
// are read comes more than once.
func newestOfEach(heads []records.Record) []records.Record {
	last := make(map[string]uint64, len(heads))
	for _, rec := range heads {
		last[rec.Subject] = max(last[rec.Subject], rec.Seq)
	}
	return slices.DeleteFunc(heads, func(rec records.Record) bool { return rec.Seq < last[rec.Subject] })
}

// summaries reads sessions beside each other, the last of heads first.
func (a *Archive) summaries(ctx context.Context, heads []records.Record) []Summary {
	list := make([]Summary, len(heads))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, rec := range heads {
		slots <- struct{}{}
		group.Go(func() {
			list[len(heads)-1-i] = a.summary(ctx, rec)
			<-slots
		})
	}
	group.Wait()
	return list
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
	c, err := a.store.decode(ctx, rec)
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

// isOf reports whether a key is that of a direct chat with a person, or of one of
// several conversations with them; their escaped id is behind /dm/ in middle.
func isOf(key Key, middle string) bool {
	channel, rest, ok := strings.Cut(string(key), middle)
	return ok && !strings.Contains(channel, "/") && (rest == "" || rest[0] == '/')
}

// Of lists the keys of the direct conversations of a person with an agent.
func (a *Archive) Of(ctx context.Context, agent, person string) ([]Key, error) {
	var keys []Key
	middle := "/dm/" + escapeID.Replace(person)
	err := records.Heads(ctx, a.js, bus.SessionsStream, Subject(agent, "*"), false, func(rec records.Record) {
		if key := keyOf(rec.Data); isOf(key, middle) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	})
	return keys, err
}
