package web

import (
	"encoding/json"
	"strings"
	"time"

	"agenthost/bus"
)

// An Item is one line of a conversation, as the page shows it.
type Item struct {
	ID           string    `json:"id"`
	Agent        string    `json:"agent"`
	Conversation string    `json:"conversation"`
	Mine         bool      `json:"mine,omitempty"` // the person has written it
	Kind         string    `json:"kind"`           // message, or as in the envelope
	Text         string    `json:"text"`
	Files        []File    `json:"files,omitempty"`
	At           time.Time `json:"at"`
	InReplyTo    []string  `json:"in_reply_to,omitempty"`
	Final        bool      `json:"final,omitempty"`
	Code         string    `json:"code,omitempty"` // of an error

	Call    string   `json:"call,omitempty"`    // of what is asked: its id
	Options []string `json:"options,omitempty"` // to answer with
	Whole   string   `json:"whole,omitempty"`   // the whole call that is to be approved
	Answer  string   `json:"answer,omitempty"`  // what was answered
	Closed  bool     `json:"closed,omitempty"`  // nothing waits for an answer any more

	Run string `json:"run,omitempty"`
}

// A File is an attachment of an Item. It is read by the number that it has there.
type File struct {
	Name  string `json:"name"`
	MIME  string `json:"mime,omitempty"`
	Size  int64  `json:"size,omitempty"`
	Image bool   `json:"image,omitempty"` // the page may show it
	URL   string `json:"url,omitempty"`   // where it is, when it is not stored here
}

const (
	kindMessage = "message"
	kindAnswer  = "answer" // the press of a button, which other pages of the person show
)

// ofInbound is what a person has written. It is nil for what is no line of the
// conversation: the press of a button, and the order to stop.
func ofInbound(in *bus.Inbound, agent string, at time.Time) *Item {
	if in.Answers != "" || strings.EqualFold(strings.TrimSpace(in.Text), stopOrder) {
		return nil
	}
	return &Item{
		ID: in.ID, Agent: agent, Conversation: conversationID(in.Thread), Mine: true, Kind: kindMessage,
		Text: in.Text, Files: filesOf(in.Media), At: at,
	}
}

// ofOutbound is what an agent has said.
func ofOutbound(out *bus.Outbound) *Item {
	it := &Item{
		ID: out.ID, Agent: out.Agent, Conversation: conversationID(out.Thread), Kind: out.Kind, Text: out.Text,
		Files: filesOf(out.Media), At: out.SentAt, Final: out.Final, Call: out.Call, Options: out.Options, Run: out.Run,
	}
	if it.InReplyTo = out.Merged; len(out.Merged) == 0 && out.InReplyTo != "" {
		it.InReplyTo = []string{out.InReplyTo}
	}
	if out.Error != nil {
		it.Code = out.Error.Code
		if it.Text == "" {
			it.Text = out.Error.Message
		}
	}
	return it
}

func filesOf(media []bus.Media) []File {
	var list []File
	for _, m := range media {
		f := File{Name: cleanName(m.Name), MIME: m.MIME, Size: m.Size, Image: m.Object != "" && shown[m.MIME]}
		if m.Object == "" && (strings.HasPrefix(m.URL, "https://") || strings.HasPrefix(m.URL, "http://")) {
			f.URL = m.URL
		}
		list = append(list, f)
	}
	return list
}

// shown are the images that a browser may show as part of the page: none of them
// can hold a script.
var shown = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

func readOutbound(data []byte) (*bus.Outbound, bool) {
	out := &bus.Outbound{}
	return out, json.Unmarshal(data, out) == nil
}
