package discordtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of Discord.
const (
	maxText   = 2000
	maxUpload = 10 << 20
	maxNonce  = 25
	maxID     = 100
	maxLabel  = 80
)

// carryOut is a call's result or its refusal. Called with the lock held.
func (s *Server) carryOut(r *http.Request, c Call) (any, *Refusal) {
	switch c.Name {
	case "GET bot":
		return map[string]any{
			"url": "ws" + strings.TrimPrefix(s.URL, "http") + "/ws", "shards": 1,
			"session_start_limit": map[string]any{"total": 1000, "remaining": s.gateway.remaining(), "reset_after": 60_000, "max_concurrency": 1},
		}, nil
	case "GET @me":
		return person(BotID, ""), nil
	case "POST channels":
		id, _ := c.Body["recipient_id"].(string)
		r := s.open(PrivateRoom(id), private, "")
		r.Person = id
		return r.json(), nil
	case "POST callback":
		s.answer(c)
		return nil, nil
	}
	parts := strings.Split(strings.Trim(c.Path, "/"), "/")
	if parts[0] != "channels" || len(parts) < 2 {
		return nil, &Refusal{Status: http.StatusNotFound, Message: "404: Not Found"}
	}
	at := s.rooms[parts[1]]
	if at == nil {
		return nil, &Refusal{Status: http.StatusNotFound, Code: 10003, Message: "Unknown Channel"}
	}
	switch c.Name {
	case "GET channel":
		return at.json(), nil
	case "POST typing":
		return nil, nil
	case "GET messages":
		return s.history(at.ID, r.URL.Query().Get("after"), r.URL.Query().Get("limit")), nil
	case "POST messages":
		return s.post(c, at)
	}
	return s.change(c, at, parts[len(parts)-1])
}

// post shows a message of the bot.
func (s *Server) post(c Call, at *room) (any, *Refusal) {
	nonce, _ := c.Body["nonce"].(string)
	if len(nonce) > maxNonce {
		return nil, invalid("nonce: Must be 25 or fewer in length.")
	}
	if enforced, _ := c.Body["enforce_nonce"].(bool); enforced && nonce != "" {
		for _, m := range s.messages {
			if m.ID == s.nonces[at.ID+" "+nonce] {
				return s.json(m), nil
			}
		}
	}
	m := Message{From: BotID, Room: at.ID, Nonce: nonce, File: c.File}
	if m.File != nil && len(m.File.Data) > maxUpload {
		return nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Code: 40005, Message: "Request entity too large"}
	}
	if refused := s.fill(&m, c); refused != nil {
		return nil, refused
	}
	if to, ok := c.Body["message_reference"].(map[string]any); ok {
		m.ReplyTo, _ = to["message_id"].(string)
		known := slices.ContainsFunc(s.messages, func(o *Message) bool { return o.ID == m.ReplyTo && o.Room == at.ID })
		if must, said := to["fail_if_not_exists"].(bool); !known && (must || !said) {
			return nil, invalid("message_reference: Unknown message")
		} else if !known {
			m.ReplyTo = ""
		}
	}
	shown := s.show(m)
	s.nonces[at.ID+" "+nonce] = shown.ID
	s.emit("MESSAGE_CREATE", s.json(shown))
	return s.json(shown), nil
}

// fill sets text and buttons of a message from a call.
func (s *Server) fill(m *Message, c Call) *Refusal {
	if content, ok := c.Body["content"].(string); ok {
		m.Text = content
	}
	if utf8.RuneCountInString(m.Text) > maxText {
		return invalid("content: Must be 2000 or fewer in length.")
	}
	if m.Text == "" && m.File == nil {
		return &Refusal{Status: http.StatusBadRequest, Code: 50006, Message: "Cannot send an empty message"}
	}
	rows, ok := c.Body["components"].([]any)
	if !ok {
		return nil
	}
	m.Buttons = nil
	for _, r := range rows {
		row, _ := r.(map[string]any)
		in, _ := row["components"].([]any)
		if len(in) > 5 || len(rows) > 5 {
			return invalid("components: Must be between 1 and 5 in length.")
		}
		for _, b := range in {
			button, _ := b.(map[string]any)
			label, _ := button["label"].(string)
			id, _ := button["custom_id"].(string)
			if id == "" || len(id) > maxID || utf8.RuneCountInString(label) > maxLabel {
				return invalid("components: custom_id or label")
			}
			m.Buttons = append(m.Buttons, Button{label, id})
		}
	}
	return nil
}

func invalid(what string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Code: 50035, Message: "Invalid Form Body: " + what}
}

// change edits or deletes a message of the bot.
func (s *Server) change(c Call, at *room, id string) (any, *Refusal) {
	i := slices.IndexFunc(s.messages, func(m *Message) bool { return m.ID == id && m.Room == at.ID && m.From == BotID })
	switch {
	case i < 0:
		return nil, &Refusal{Status: http.StatusNotFound, Code: 10008, Message: "Unknown Message"}
	case c.Name == "DELETE message":
		s.messages = slices.Delete(s.messages, i, i+1)
		return nil, nil
	}
	m := s.messages[i]
	if refused := s.fill(m, c); refused != nil {
		return nil, refused
	}
	m.Edits++
	return s.json(m), nil
}

// answer is that to a press: 6 changes nothing, 7 edits the message.
func (s *Server) answer(c Call) {
	message, _, _ := strings.Cut(strings.TrimPrefix(c.Path[strings.LastIndex(c.Path, "press-"):], "press-"), "/")
	for _, m := range s.messages {
		if data, ok := c.Body["data"].(map[string]any); ok && m.ID == message {
			if rows, ok := data["components"].([]any); ok && len(rows) == 0 {
				m.Buttons = nil
			}
		}
	}
}

// history is what was written in a room after a message, newest first.
func (s *Server) history(room, after, limit string) []any {
	most, err := strconv.Atoi(limit)
	if err != nil {
		most = 50
	}
	all := []any{}
	for _, m := range s.messages {
		if m.Room == room && (len(m.ID) > len(after) || m.ID > after) && len(all) < most {
			j := s.json(m)
			delete(j, "guild_id") // as REST has it
			delete(j, "member")
			delete(j, "channel_type")
			all = append(all, j)
		}
	}
	slices.Reverse(all)
	return all
}

func (s *Server) serveFile(w http.ResponseWriter, id string) {
	next := s.begin(Call{Name: "GET file", Path: id})
	s.mu.Lock()
	f, ok := s.files[id]
	s.mu.Unlock()
	switch {
	case next.Status != 0:
		http.Error(w, next.Message, next.Status)
	case !ok:
		http.Error(w, "no such file", http.StatusNotFound)
	default:
		_, _ = w.Write(f.Data)
	}
}
