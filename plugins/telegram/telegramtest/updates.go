package telegramtest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

type update struct {
	ID      int64
	content map[string]any
}

func (u update) json() map[string]any {
	all := map[string]any{"update_id": u.ID}
	maps.Copy(all, u.content)
	return all
}

// queue adds an update. Called with the lock held.
func (s *Server) queue(kind string, content any) int64 {
	s.lastID++
	s.last = update{s.lastID, map[string]any{kind: content}}
	s.updates = append(s.updates, s.last)
	s.touch()
	return s.lastID
}

var errSecondPoller = errors.New("terminated by other getUpdates request")

// getUpdates answers with what is not acknowledged, and waits for something.
func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, c Call) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	s.mu.Lock()
	if s.webhook.url != "" {
		s.mu.Unlock()
		reply(w, nil, &Refusal{Code: http.StatusConflict, Description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"})
		return
	}
	if s.poller != nil {
		s.poller(errSecondPoller)
	}
	s.poller = cancel
	s.acknowledge(c.Number("offset"))
	s.mu.Unlock()

	limit := time.NewTimer(time.Duration(c.Number("timeout")) * time.Second)
	defer limit.Stop()
	for {
		s.mu.Lock()
		batch, changed := s.batch(c), s.changed
		s.mu.Unlock()
		if len(batch) > 0 {
			reply(w, batch, nil)
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			reply(w, []any{}, nil)
			return
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errSecondPoller) {
				reply(w, nil, &Refusal{Code: http.StatusConflict, Description: "Conflict: " + errSecondPoller.Error() + "; make sure that only one bot instance is running"})
				return
			}
			panic(http.ErrAbortHandler) // cut
		}
	}
}

// acknowledge drops the updates below an offset. Called with the lock held.
func (s *Server) acknowledge(offset int64) {
	if offset > 0 {
		s.updates = slices.DeleteFunc(s.updates, func(u update) bool { return u.ID < offset })
		s.touch()
	}
}

// batch is what a call gets. Called with the lock held.
func (s *Server) batch(c Call) []any {
	most := int(c.Number("limit"))
	if most <= 0 {
		most = 100
	}
	var batch []any
	for _, u := range s.updates[:min(most, len(s.updates))] {
		batch = append(batch, u.json())
	}
	return batch
}

// Waiting is how many updates are not acknowledged.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// Press has a person press a button of a message of the bot. It returns the id of
// the press.
func (s *Server) Press(from int64, name string, message int64, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "press" + strconv.FormatInt(s.lastID+1, 10)
	var shown any
	for _, m := range s.messages {
		if m.ID == message {
			shown = s.json(m)
		}
	}
	s.queue("callback_query", map[string]any{
		"id": id, "from": person(from, name), "chat_instance": "1", "data": data, "message": shown,
	})
	return id
}

// Update queues any update, such as one of an unknown kind.
func (s *Server) Update(kind string, content any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue(kind, content)
}

// Repeat queues the last update once more, as when its acknowledgement was lost.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++ // an offset beyond the old number has been seen
	again := s.last
	again.ID = s.lastID
	s.updates = append(s.updates, again)
	s.touch()
}

// Cut ends the call that waits for updates.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poller != nil {
		s.poller(nil)
	}
}
