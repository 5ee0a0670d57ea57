package telegramtest

import (
	"net/http"
	"slices"
	"strings"
)

// Limits of the Bot API.
const (
	maxText    = 4096
	maxCaption = 1024
	maxUpload  = 50 << 20
	maxData    = 64
)

// carryOut is a call's result or its refusal.
func (s *Server) carryOut(c Call) (any, *Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	switch c.Method {
	case "getMe":
		return map[string]any{"id": BotID, "is_bot": true, "first_name": "House", "username": Username, "can_join_groups": true}, nil
	case "setWebhook", "deleteWebhook", "getWebhookInfo":
		return s.webhookMethod(c)
	case "answerCallbackQuery":
		return true, nil
	case "getFile":
		return s.getFile(c.Text("file_id"))
	}
	send := strings.HasPrefix(c.Method, "send")
	if !send && !strings.HasPrefix(c.Method, "editMessage") && c.Method != "deleteMessage" || c.Method == "sendMessageDraft" && s.noDrafts {
		return nil, &Refusal{Code: http.StatusNotFound, Description: "Not Found"}
	}
	chat, refused := s.openChat(c)
	switch {
	case refused != nil:
		return nil, refused
	case c.Method == "sendChatAction":
		return true, nil
	case c.Method == "sendMessageDraft":
		return s.sendDraft(c, chat)
	case send:
		return s.send(c, chat)
	}
	return s.change(c, chat)
}

func (s *Server) openChat(c Call) (int64, *Refusal) {
	id := c.Number("chat_id")
	chat := s.chats[id]
	switch {
	case chat == nil:
		return 0, badRequest("chat not found")
	case chat.migrated != 0:
		r := badRequest("group chat was upgraded to a supergroup chat")
		r.MigrateTo = chat.migrated
		return 0, r
	}
	return id, nil
}

func (s *Server) sendDraft(c Call, chat int64) (any, *Refusal) {
	switch {
	case s.chats[chat].kind != "private":
		return nil, badRequest("drafts can be sent only to private chats")
	case c.Number("draft_id") == 0:
		return nil, badRequest("DRAFT_ID_INVALID")
	}
	_, refused := readMarkup(c.Text("text"), c.Text("parse_mode"), maxText)
	return true, refused
}

// send shows a message of the bot.
func (s *Server) send(c Call, chat int64) (any, *Refusal) {
	m := Message{From: BotID, Chat: chat, Thread: c.Number("message_thread_id"), HTML: c.Text("text")}
	longest := maxText
	if c.Method != "sendMessage" {
		field := strings.ToLower(strings.TrimPrefix(c.Method, "send"))
		if m.File = c.File; m.File == nil {
			m.File = &File{Kind: field, Name: c.Text(field)} // an address or an id
		}
		if len(m.File.Data) > maxUpload {
			return nil, &Refusal{Code: http.StatusRequestEntityTooLarge, Description: "Request Entity Too Large"}
		}
		longest, m.HTML, m.Caption = maxCaption, c.Text("caption"), true
	}
	text, refused := readMarkup(m.HTML, c.Text("parse_mode"), longest)
	switch {
	case refused != nil:
		return nil, refused
	case m.File == nil && strings.TrimSpace(text) == "":
		return nil, badRequest("message text is empty")
	}
	m.Text = text
	var reply struct {
		ID      int64 `json:"message_id"`
		Without bool  `json:"allow_sending_without_reply"`
	}
	c.decode("reply_parameters", &reply)
	if reply.ID != 0 && !s.shown(chat, reply.ID) {
		if !reply.Without {
			return nil, badRequest("message to be replied not found")
		}
		reply.ID = 0
	}
	m.ReplyTo = reply.ID
	if m.Buttons, refused = buttons(c); refused != nil {
		return nil, refused
	}
	return s.json(s.show(m)), nil
}

func (s *Server) shown(chat, id int64) bool {
	return slices.ContainsFunc(s.messages, func(m *Message) bool { return m.ID == id && m.Chat == chat })
}

func buttons(c Call) ([]Button, *Refusal) {
	var markup struct {
		Rows [][]Button `json:"inline_keyboard"`
	}
	c.decode("reply_markup", &markup)
	all := slices.Concat(markup.Rows...)
	for _, b := range all {
		if b.Data == "" || len(b.Data) > maxData || b.Text == "" {
			return nil, badRequest("BUTTON_DATA_INVALID")
		}
	}
	return all, nil
}

// change edits or deletes a message of the bot.
func (s *Server) change(c Call, chat int64) (any, *Refusal) {
	i := slices.IndexFunc(s.messages, func(m *Message) bool {
		return m.ID == c.Number("message_id") && m.Chat == chat && m.From == BotID
	})
	if i < 0 {
		return nil, badRequest("message to edit not found")
	}
	m := s.messages[i]
	if c.Method == "deleteMessage" {
		s.messages = slices.Delete(s.messages, i, i+1)
		return true, nil
	}
	text, source := m.Text, m.HTML
	if c.Method == "editMessageText" {
		var refused *Refusal
		source = c.Text("text")
		if text, refused = readMarkup(source, c.Text("parse_mode"), maxText); refused != nil {
			return nil, refused
		}
	}
	below, refused := buttons(c)
	if refused != nil {
		return nil, refused
	}
	if source == m.HTML && slices.Equal(below, m.Buttons) {
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Text, m.HTML, m.Buttons = text, source, below
	m.Edits++
	return s.json(m), nil
}
