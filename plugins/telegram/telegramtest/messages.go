package telegramtest

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// A Message is what is shown in a chat.
type Message struct {
	ID     int64
	From   int64 // BotID for those of the bot
	Name   string
	Chat   int64 // 0 in Write: the private chat with From
	Title  string
	Thread int64 // the topic
	Text   string
	// HTML is the text of the bot as it came; Text is what people see of it.
	HTML    string
	ReplyTo int64
	File    *File
	Buttons []Button
	Edits   int  // how often it was edited
	Caption bool // the text is that of the file
}

// A Button is one below a message.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// Write has a person write a message. It returns its id.
func (s *Server) Write(m Message) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.show(m)
	s.queue("message", s.json(shown))
	return shown.ID
}

// Edit has a person change the text of a message.
func (s *Server) Edit(id int64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID == id {
			m.Text = text
			m.Edits++
			s.queue("edited_message", s.json(m))
		}
	}
}

// Migrate makes a group a supergroup with another id.
func (s *Server) Migrate(from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.chats[from]
	old.migrated = to
	s.chats[to] = &chat{kind: "supergroup", title: old.title}
	service := func(chat int64, key string, other int64) {
		s.lastMsg++
		s.queue("message", map[string]any{
			"message_id": s.lastMsg, "date": time.Now().Unix(), "chat": s.chatJSON(chat),
			"from": person(1087968824, "Group"), key: other,
		})
	}
	service(from, "migrate_to_chat_id", to)
	service(to, "migrate_from_chat_id", from)
}

// Messages are the bot's messages that a chat shows, oldest first.
func (s *Server) Messages(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.messages {
		if m.Chat == chat && m.From == BotID {
			all = append(all, *m)
		}
	}
	return all
}

// show adds a message. Called with the lock held.
func (s *Server) show(m Message) *Message {
	s.lastMsg++
	m.ID = s.lastMsg
	if m.Chat == 0 {
		m.Chat = m.From
	}
	if s.chats[m.Chat] == nil {
		kind := "private"
		if m.Chat < 0 {
			kind = "group"
		}
		if strings.HasPrefix(strconv.FormatInt(m.Chat, 10), "-100") {
			kind = "supergroup"
		}
		s.chats[m.Chat] = &chat{kind: kind, title: m.Title}
	}
	s.messages = append(s.messages, &m)
	return &m
}

// json is a message as the API shows it. Called with the lock held.
func (s *Server) json(m *Message) map[string]any {
	j := map[string]any{
		"message_id": m.ID, "date": time.Now().Unix(), "chat": s.chatJSON(m.Chat), "from": person(m.From, m.Name),
	}
	if m.Edits > 0 {
		j["edit_date"] = time.Now().Unix()
	}
	if m.Thread != 0 {
		j["message_thread_id"], j["is_topic_message"] = m.Thread, true
		// As Telegram does it: the topic itself is what every message answers.
		j["reply_to_message"] = map[string]any{
			"message_id": m.Thread, "date": 1, "chat": s.chatJSON(m.Chat), "from": person(BotID, ""), "forum_topic_created": map[string]any{"name": "topic"},
		}
	}
	if m.Text != "" {
		text, marks := "text", "entities"
		if m.File != nil {
			text, marks = "caption", "caption_entities"
		}
		j[text], j[marks] = m.Text, entities(m.Text)
	}
	for _, other := range s.messages {
		if m.ReplyTo != 0 && other.ID == m.ReplyTo && other.Chat == m.Chat {
			j["reply_to_message"] = s.json(other)
		}
	}
	if m.File != nil {
		s.addFile(j, m)
	}
	if len(m.Buttons) > 0 {
		j["reply_markup"] = map[string]any{"inline_keyboard": [][]Button{m.Buttons}}
	}
	return j
}

func (s *Server) chatJSON(id int64) map[string]any {
	c := s.chats[id]
	j := map[string]any{"id": id, "type": c.kind}
	if c.kind == "private" {
		j["first_name"] = c.title
	} else {
		j["title"] = c.title
	}
	return j
}

func person(id int64, name string) map[string]any {
	if id == BotID {
		return map[string]any{"id": id, "is_bot": true, "first_name": "House", "username": Username}
	}
	return map[string]any{"id": id, "is_bot": false, "first_name": name}
}

var marked = regexp.MustCompile(`/\w+(@\w+)?|@\w+`)

// entities finds mentions and commands, as Telegram does for every text.
func entities(text string) []map[string]any {
	found := []map[string]any{}
	for _, at := range marked.FindAllStringIndex(text, -1) {
		kind := "mention"
		if text[at[0]] == '/' {
			kind = "bot_command"
		}
		found = append(found, map[string]any{"type": kind, "offset": units(text[:at[0]]), "length": units(text[at[0]:at[1]])})
	}
	return found
}

func units(text string) int { return len(utf16.Encode([]rune(text))) }
