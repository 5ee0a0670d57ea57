package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"agenthost/plugins"
)

// body are the parameters of a message.
type body map[string]any

// Deliver sends one message.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	room, err := c.roomOf(ctx, m.Place)
	if err != nil {
		return "", err
	}
	b := body{"content": m.Text, "allowed_mentions": body{"parse": []string{}, "replied_user": true}}
	if len(m.Buttons) > 0 {
		b["components"] = rows(m.Buttons)
	}
	if preview, ok := parseID(m.Preview); ok {
		path := "/channels/" + room + "/messages/" + preview
		if m.File == nil {
			err := c.api.call(ctx, http.MethodPatch, path, b, nil)
			if !gone(err) {
				return messageID(preview), err
			}
		} else if err := c.api.call(ctx, http.MethodDelete, path, nil, nil); err != nil && !gone(err) {
			return "", err
		}
	}
	b["nonce"], b["enforce_nonce"] = nonce(m.Key), true
	if to, ok := parseID(m.ReplyTo); ok && m.Chat != "" { // with one person it is plain
		b["message_reference"] = body{"message_id": to, "fail_if_not_exists": false}
	}
	var sent message
	err = c.post(ctx, "/channels/"+room+"/messages", b, m.File, &sent)
	if err != nil && refusedReference(err) {
		delete(b, "message_reference")
		err = c.post(ctx, "/channels/"+room+"/messages", b, m.File, &sent)
	}
	return messageID(sent.ID), err
}

func (c *Channel) post(ctx context.Context, path string, b body, file *plugins.File, sent *message) error {
	switch {
	case file == nil:
		return c.api.call(ctx, http.MethodPost, path, b, sent)
	case len(file.Data) > 0:
		return c.api.upload(ctx, path, b, file, sent)
	case file.URL != "":
		b["content"] = file.URL // Discord shows what is there
		return c.api.call(ctx, http.MethodPost, path, b, sent)
	}
	return plugins.Permanent(fmt.Errorf("file %q has neither content nor an address", file.Name))
}

// nonce makes from a key what Discord takes once: at most 25 characters.
func nonce(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:12])
}

// gone reports whether the message of a preview is no more.
func gone(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.status == http.StatusNotFound && e.code == codeUnknownMessage
}

// refusedReference reports whether a message was refused for the one that it answers.
func refusedReference(err error) bool {
	var e *apiError
	return errors.As(err, &e) && (e.code == codeNoHistory || e.code == codeUnknownMessage || e.code == codeSystemMessage)
}

// Codes of Discord.
const (
	codeUnknownMessage = 10008
	codeSystemMessage  = 50021
	codeNoHistory      = 160002 // a reply needs the right to read the history
)

// rows makes the buttons, five in a row.
func rows(buttons []plugins.Button) []body {
	const inRow, maxLabel = 5, 80
	var all []body
	for i, b := range buttons {
		if i%inRow == 0 {
			all = append(all, body{"type": 1, "components": []body{}})
		}
		label := b.Label
		if r := []rune(label); len(r) > maxLabel {
			label = string(r[:maxLabel-1]) + "…"
		}
		row := all[len(all)-1]
		row["components"] = append(row["components"].([]body), body{"type": 2, "style": 2, "label": label, "custom_id": b.Data})
	}
	return all
}

// Typing shows for ten seconds that an answer is being written.
func (c *Channel) Typing(ctx context.Context, to plugins.Place) error {
	room, err := c.roomOf(ctx, to)
	if err != nil {
		return err
	}
	return c.api.call(ctx, http.MethodPost, "/channels/"+room+"/typing", nil, nil)
}

// Preview shows what is written so far, in a message that is edited.
func (c *Channel) Preview(ctx context.Context, to plugins.Place, id, text string) (string, error) {
	room, err := c.roomOf(ctx, to)
	if err != nil {
		return id, err
	}
	b := body{"content": text, "allowed_mentions": body{"parse": []string{}}}
	if message, ok := parseID(id); ok {
		return id, c.api.call(ctx, http.MethodPatch, "/channels/"+room+"/messages/"+message, b, nil)
	}
	b["flags"] = 1 << 12 // without a sound
	var sent message
	if err := c.api.call(ctx, http.MethodPost, "/channels/"+room+"/messages", b, &sent); err != nil {
		return "", err
	}
	return messageID(sent.ID), nil
}
