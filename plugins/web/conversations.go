package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/client"
	"agenthost/internal/httpauth"
	"agenthost/run"
	"agenthost/session"
)

// A Conversation is a line of the list of conversations.
type Conversation struct {
	ID    string    `json:"id"`
	Agent string    `json:"agent"`
	Title string    `json:"title,omitempty"` // how its first message begins
	At    time.Time `json:"at"`              // of the last commit
}

const (
	mostConversations = 100
	listedAtOnce      = 8
	titleRunes        = 60
)

// conversations lists those of a person with an agent, the last one first.
func (w *Web) conversations(rw http.ResponseWriter, r *http.Request) {
	p, agent := w.personOf(rw, r), r.URL.Query().Get("agent")
	if _, ok := w.placeOf(httpauth.CallerOf(r.Context()), p, agent, mainConversation); !ok {
		refuse(rw, http.StatusNotFound, errNoPlace)
		return
	}
	if !w.begin(rw, r) {
		return
	}
	list, err := w.list(r.Context(), agent, p.id)
	if err != nil {
		w.fail(rw, r, "list the conversations", err)
		return
	}
	answer(rw, http.StatusOK, map[string]any{"conversations": nonNil(list)})
}

func (w *Web) list(ctx context.Context, agent, person string) ([]Conversation, error) {
	keys, err := w.parts.Client.Sessions().Of(ctx, agent, person)
	if err != nil {
		return nil, err
	}
	mine := string(session.DM(channel, "", person))
	keys = slices.DeleteFunc(keys, func(key string) bool { return key != mine && !strings.HasPrefix(key, mine+"/") })
	list := make([]Conversation, len(keys))
	slots, group := make(chan struct{}, listedAtOnce), sync.WaitGroup{}
	for i, key := range keys {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			thread := strings.TrimPrefix(strings.TrimPrefix(key, mine), "/")
			list[i] = w.describe(ctx, agent, key)
			list[i].ID = conversationID(thread)
		})
	}
	group.Wait()
	list = slices.DeleteFunc(list, func(c Conversation) bool { return c.At.IsZero() })
	for _, it := range w.hub.unansweredOf(agent, person) {
		if !slices.ContainsFunc(list, func(c Conversation) bool { return c.ID == it.Conversation }) {
			list = append(list, Conversation{ID: it.Conversation, Agent: agent, Title: headline(it.Text), At: it.At})
		}
	}
	slices.SortFunc(list, func(a, b Conversation) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID)) })
	return list[:min(len(list), mostConversations)], ctx.Err()
}

// describe reads the beginning of a conversation, and when it was last written to.
// One that cannot be read is left out.
func (w *Web) describe(ctx context.Context, agent, key string) Conversation {
	c := Conversation{Agent: agent}
	sid, err := client.SessionID(agent, key)
	if err != nil {
		return c
	}
	at, err := w.reader.Last(ctx, "AGENT_SESSIONS", session.Subject(agent, sid))
	if err != nil {
		return c
	}
	for f, err := range w.parts.Client.Sessions().History(ctx, agent, sid, 1) {
		if err != nil {
			if !errors.Is(err, client.ErrNoSession) {
				w.parts.Log.Debug().Err(err).Msg("chat page: read a title")
			}
			return c
		}
		if m := f.Event.Message; f.Event.Type == run.MessageAdded && m != nil && m.Role == "user" {
			c.Title = headline(m.Text())
			break
		}
	}
	c.At = at.Time.UTC()
	return c
}

func headline(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > titleRunes {
		return string(runes[:titleRunes]) + "…"
	}
	return text
}
