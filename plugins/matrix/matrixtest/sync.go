package matrixtest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const syncLimit = 50

// sync answers with what is new for a user, or waits for it.
func (s *Server) sync(w http.ResponseWriter, r *http.Request, d device) {
	wait, _ := strconv.Atoi(r.URL.Query().Get("timeout"))
	since := r.URL.Query().Get("since")
	timer := time.NewTimer(time.Duration(wait) * time.Millisecond)
	defer timer.Stop()
	for {
		s.mu.Lock()
		if _, valid := s.tokens[token(r)]; !valid {
			s.mu.Unlock()
			answer(w, http.StatusUnauthorized, map[string]any{"errcode": "M_UNKNOWN_TOKEN", "error": "Invalid access token passed."})
			return
		}
		news, any := s.news(d.user, position(since))
		changed, drop := s.changed, s.drop
		s.mu.Unlock()
		if any || since == "" || wait == 0 {
			answer(w, http.StatusOK, news)
			return
		}
		select {
		case <-changed:
		case <-drop:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		case <-timer.C:
			wait = 0
		}
	}
}

func position(token string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(token, "st"))
	return n
}

// news is what a user has not seen after a position; s.mu is held.
func (s *Server) news(user string, since int) (map[string]any, bool) {
	join, invite, leave := map[string]any{}, map[string]any{}, map[string]any{}
	for id, room := range s.rooms {
		own := room.state["m.room.member\x00"+user]
		if own == nil {
			continue
		}
		switch s.membership(id, user) {
		case "invite":
			if own.position > since {
				invite[id] = map[string]any{"invite_state": map[string]any{"events": []*Event{own}}}
			}
		case "leave":
			if own.position > since {
				leave[id] = struct{}{}
			}
		case "join":
			from := since
			if own.position > since {
				from = 0 // a room that is new for the user is shown from its beginning
			}
			if events := s.after(id, from); len(events) > 0 {
				join[id] = s.joined(room, events, from == 0)
			}
		}
	}
	rooms := map[string]any{"join": join, "invite": invite, "leave": leave}
	news := map[string]any{"next_batch": "s" + strconv.Itoa(len(s.events)), "rooms": rooms}
	return news, len(join)+len(invite)+len(leave) > 0
}

// joined is a room as a sync shows it.
func (s *Server) joined(room *room, events []*Event, whole bool) map[string]any {
	limited := len(events) > syncLimit
	if limited {
		events = events[len(events)-syncLimit:]
	}
	state := []*Event{}
	if whole {
		for _, e := range room.state {
			if e.position < events[0].position {
				state = append(state, e)
			}
		}
	}
	return map[string]any{
		"state":    map[string]any{"events": state},
		"timeline": map[string]any{"events": events, "limited": limited, "prev_batch": "t" + strconv.Itoa(events[0].position)},
	}
}

// after are the events of a room after a position; s.mu is held.
func (s *Server) after(room string, position int) []*Event {
	var found []*Event
	for _, e := range s.events {
		if e.Room == room && e.position > position {
			found = append(found, e)
		}
	}
	return found
}

// messages pages backwards through a room.
func (s *Server) messages(w http.ResponseWriter, r *http.Request, d device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inside(w, r, d) {
		return
	}
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	before := position(query.Get("from"))
	if query.Get("from") == "" {
		before = len(s.events) + 1
	}
	page := map[string]any{"start": query.Get("from")}
	chunk := []*Event{}
	for i := before - 2; i >= position(query.Get("to")); i-- {
		e := s.events[i]
		if e.Room != r.PathValue("room") {
			continue
		}
		if len(chunk) == limit {
			page["end"] = "t" + strconv.Itoa(e.position+1)
			break
		}
		chunk = append(chunk, e)
	}
	page["chunk"] = chunk
	answer(w, http.StatusOK, page)
}
