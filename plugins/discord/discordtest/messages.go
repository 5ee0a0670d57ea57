package discordtest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Message is what is shown in a room.
type Message struct {
	ID      string
	From    string // BotID for those of the bot
	Name    string
	Room    string // empty in Write: the private room with From
	Thread  string // a thread in Room
	Text    string
	ReplyTo string
	File    *File
	Buttons []Button
	Nonce   string
	Edits   int

	hook bool
}

// A Button is one below a message.
type Button struct {
	Label string
	ID    string
}

// PrivateRoom is the room that the bot and a person have.
func PrivateRoom(person string) string { return "9" + person }

// Write has a person write a message. It returns its id.
func (s *Server) Write(m Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Room == "" {
		m.Room = PrivateRoom(m.From)
		s.open(m.Room, private, "").Person = m.From
	} else {
		s.open(m.Room, text, "")
	}
	if m.Thread != "" {
		s.open(m.Thread, thread, m.Room)
		m.Room = m.Thread
	}
	shown := s.show(m)
	s.emit("MESSAGE_CREATE", s.json(shown))
	return shown.ID
}

// WriteByHook has a webhook write a message, as other programs do.
func (s *Server) WriteByHook(room, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open(room, 0, "")
	s.emit("MESSAGE_CREATE", s.json(s.show(Message{From: "31", Name: "hook", Room: room, Text: text, hook: true})))
}

// Edit has a person change the text of a message.
func (s *Server) Edit(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID == id {
			m.Text = text
			m.Edits++
			s.emit("MESSAGE_UPDATE", s.json(m))
		}
	}
}

// Unfurl has Discord add the preview of a link, which is an update and no edit.
func (s *Server) Unfurl(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID == id {
			s.emit("MESSAGE_UPDATE", s.json(m))
		}
	}
}

// Press has a person press a button of a message of the bot.
func (s *Server) Press(from, name, message, button string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID != message {
			continue
		}
		id := s.nextID()
		i := map[string]any{
			"id": id, "application_id": BotID, "type": 3, "token": "press-" + message, "version": 1, "channel_id": m.Room,
			"channel": s.rooms[m.Room].json(), "message": s.json(m), "data": map[string]any{"custom_id": button, "component_type": 2},
			"locale": "en-US", "entitlements": []any{}, "app_permissions": "0", "authorizing_integration_owners": map[string]any{},
			"attachment_size_limit": 10 << 20,
		}
		if s.rooms[m.Room].kind == private {
			i["user"] = person(from, name)
		} else {
			i["guild_id"] = GuildID
			i["member"] = map[string]any{"user": person(from, name), "roles": []any{}, "joined_at": stamp(time.Now()), "permissions": "0", "deaf": false, "mute": false, "flags": 0}
		}
		s.emit("INTERACTION_CREATE", i)
	}
}

// Messages are the bot's messages that a room shows, oldest first.
func (s *Server) Messages(room string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.messages {
		if m.Room == room && m.From == BotID {
			all = append(all, *m)
		}
	}
	return all
}

// Room makes a room of the server, in which the bot may write.
func (s *Server) Room(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open(id, text, "")
}

// open makes a room unless it is there. Called with the lock held.
func (s *Server) open(id string, kind int, parent string) *room {
	if s.rooms[id] == nil {
		s.rooms[id] = &room{ID: id, kind: kind, Parent: parent}
	}
	return s.rooms[id]
}

// nextID gives ids that count up. Called with the lock held.
func (s *Server) nextID() string {
	s.lastID++
	return strconv.FormatInt(s.lastID, 10)
}

// show adds a message. Called with the lock held.
func (s *Server) show(m Message) *Message {
	m.ID = s.nextID()
	s.messages = append(s.messages, &m)
	s.rooms[m.Room].Last = m.ID
	return &m
}

var mention = regexp.MustCompile(`<@!?(\d+)>`)

// json is a message as Discord shows it. Called with the lock held.
func (s *Server) json(m *Message) map[string]any {
	j := map[string]any{
		"id": m.ID, "channel_id": m.Room, "type": 0, "content": m.Text, "timestamp": stamp(time.Now()), "edited_timestamp": nil,
		"author": person(m.From, m.Name), "tts": false, "mention_everyone": false, "pinned": false, "embeds": []any{},
		"attachments": []any{}, "mention_roles": []string{}, "components": []any{}, "flags": 0,
	}
	mentions := []any{}
	for _, found := range mention.FindAllStringSubmatch(m.Text, -1) {
		mentions = append(mentions, person(found[1], "name-"+found[1]))
	}
	j["mentions"], j["channel_type"] = mentions, s.rooms[m.Room].kind
	if strings.Contains(m.Text, "<@&"+RoleID+">") {
		j["mention_roles"] = []string{RoleID}
	}
	if s.rooms[m.Room].kind != private {
		j["guild_id"] = GuildID
		j["member"] = map[string]any{"roles": []any{}, "joined_at": stamp(time.Now()), "deaf": false, "mute": false, "flags": 0}
	}
	if m.hook {
		j["webhook_id"] = "31"
	}
	if m.Edits > 0 {
		j["edited_timestamp"] = stamp(time.Now())
	}
	for _, other := range s.messages {
		if other.ID == m.ReplyTo && m.ReplyTo != "" {
			j["type"] = 19
			j["message_reference"] = map[string]any{"type": 0, "message_id": other.ID, "channel_id": other.Room}
			j["referenced_message"] = s.json(other)
		}
	}
	if m.File != nil {
		size := max(m.File.Size, int64(len(m.File.Data)))
		s.files[m.ID] = *m.File
		j["attachments"] = []any{map[string]any{
			"id": m.ID, "filename": m.File.Name, "content_type": m.File.MIME, "size": size,
			"url": s.URL + "/files/" + m.ID, "proxy_url": s.URL + "/files/" + m.ID,
		}}
	}
	if m.Nonce != "" {
		j["nonce"] = m.Nonce
	}
	return j
}

func person(id, name string) map[string]any {
	if id == BotID {
		return map[string]any{"id": id, "username": BotName, "discriminator": "0", "avatar": nil, "bot": true}
	}
	return map[string]any{"id": id, "username": "user" + id, "global_name": name, "discriminator": "0", "avatar": nil}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

// Repeat sends the last message that a person has written once more.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.messages) {
		if m.From != BotID {
			s.emit("MESSAGE_CREATE", s.json(m))
			return
		}
	}
}
