package telegram

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"agenthost/plugins"
)

// Deliver sends one message.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	chat, err := c.chatOf(m.Place)
	if err != nil {
		return "", err
	}
	defer c.endPreview(m.Preview)
	id, err := c.deliver(ctx, chat, m)
	if e, ok := refused(err); ok && e.migrated != 0 {
		c.move(cmp.Or(m.Chat, m.To), e.migrated)
		m.Preview = "" // it stays in the group that is no more
		id, err = c.deliver(ctx, e.migrated, m)
	}
	if err != nil {
		return "", verdict(err, true)
	}
	return id, nil
}

func (c *Channel) deliver(ctx context.Context, chat int64, m plugins.Message) (string, error) {
	if _, preview, ok := parseID(m.Preview); ok {
		if m.File == nil {
			id, err := c.replace(ctx, chat, preview, m)
			if err == nil || !is(err, http.StatusBadRequest, "message to edit not found") && !is(err, http.StatusBadRequest, "can't be edited") {
				return id, err
			}
		} else {
			_ = c.api.call(ctx, "deleteMessage", params{"chat_id": chat, "message_id": preview}, nil)
		}
	}
	p := address(chat, m.Place)
	if to, answered, ok := parseID(m.ReplyTo); ok && to == chat && m.Chat != "" { // with one person it is plain
		p["reply_parameters"] = params{"message_id": answered, "allow_sending_without_reply": true}
	}
	addButtons(p, m.Buttons)
	if m.File != nil {
		return c.sendFile(ctx, chat, p, m)
	}
	var sent message
	err := c.withText(p, "text", m, func() error { return c.api.call(ctx, "sendMessage", p, &sent) })
	return messageID(chat, sent.ID), err
}

// replace puts the message in the place of its preview.
func (c *Channel) replace(ctx context.Context, chat, preview int64, m plugins.Message) (string, error) {
	p := params{"chat_id": chat, "message_id": preview}
	addButtons(p, m.Buttons)
	err := c.withText(p, "text", m, func() error { return c.api.call(ctx, "editMessageText", p, nil) })
	if is(err, http.StatusBadRequest, "message is not modified") {
		err = nil // an earlier attempt came through
	}
	return messageID(chat, preview), err
}

// withText calls send with the text of a message in the parameter field, and once
// more without markup when Telegram does not understand that.
func (c *Channel) withText(p params, field string, m plugins.Message, send func() error) error {
	p[field], p["parse_mode"] = m.Text, "HTML"
	err := send()
	if is(err, http.StatusBadRequest, "can't parse entities") {
		p[field] = cmp.Or(m.Plain, m.Text)
		delete(p, "parse_mode")
		err = send()
	}
	return err
}

// sendFile sends a file as what it is, and as a document where Telegram does not
// take it for that.
func (c *Channel) sendFile(ctx context.Context, chat int64, p params, m plugins.Message) (string, error) {
	if len(m.File.Data) == 0 && m.File.URL == "" {
		return "", plugins.Permanent(fmt.Errorf("file %q has neither content nor an address", m.File.Name))
	}
	var sent message
	send := func(method, field string) func() error {
		return func() error {
			if len(m.File.Data) > 0 {
				return c.api.upload(ctx, method, p, field, m.File, &sent)
			}
			p[field] = m.File.URL // Telegram fetches it
			err := c.api.call(ctx, method, p, &sent)
			delete(p, field)
			return err
		}
	}
	method, field := methodFor(m.File)
	err := c.withText(p, "caption", m, send(method, field))
	if e, ok := refused(err); ok && e.code == http.StatusBadRequest && e.migrated == 0 && method != "sendDocument" && !strings.Contains(e.description, "chat not found") {
		err = c.withText(p, "caption", m, send("sendDocument", "document"))
	}
	return messageID(chat, sent.ID), err
}

// methodFor is the method that sends a file, and the parameter that holds it.
func methodFor(f *plugins.File) (method, field string) {
	const maxPhoto = 10 << 20
	switch f.MIME {
	case "image/jpeg", "image/png", "image/webp":
		if len(f.Data) <= maxPhoto {
			return "sendPhoto", "photo"
		}
	case "image/gif":
		return "sendAnimation", "animation"
	case "audio/ogg", "audio/opus":
		return "sendVoice", "voice"
	case "audio/mpeg", "audio/mp3", "audio/mp4", "audio/m4a", "audio/x-m4a":
		return "sendAudio", "audio"
	case "video/mp4":
		return "sendVideo", "video"
	}
	return "sendDocument", "document"
}

// address is where a message goes.
func address(chat int64, to plugins.Place) params {
	p := params{"chat_id": chat}
	if thread, err := strconv.ParseInt(to.Thread, 10, 64); err == nil {
		p["message_thread_id"] = thread
	}
	return p
}

// addButtons adds a keyboard with each button in a row of its own.
func addButtons(p params, buttons []plugins.Button) {
	if len(buttons) == 0 {
		return
	}
	var rows [][]params
	for _, b := range buttons {
		rows = append(rows, []params{{"text": b.Label, "callback_data": b.Data}})
	}
	p["reply_markup"] = params{"inline_keyboard": rows}
}

// Typing shows for five seconds that an answer is being written.
func (c *Channel) Typing(ctx context.Context, to plugins.Place) error {
	chat, err := c.chatOf(to)
	if err != nil {
		return err
	}
	p := address(chat, to)
	p["action"] = "typing"
	return verdict(c.api.call(ctx, "sendChatAction", p, nil), true)
}
