package matrix

import (
	"encoding/json"
	"errors"
	"time"
)

// An event is one of a room's timeline or state, as far as the channel reads it.
type event struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	Sender   string          `json:"sender"`
	StateKey *string         `json:"state_key"`
	Time     int64           `json:"origin_server_ts"`
	Content  json.RawMessage `json:"content"`
	Unsigned struct {
		PrevContent struct {
			Membership string `json:"membership"`
		} `json:"prev_content"`
	} `json:"unsigned"`
}

// UnmarshalJSON leaves empty what is of another type than it should be: what a member of a
// room writes into an event must not keep the account from reading on.
func (e *event) UnmarshalJSON(data []byte) error {
	type fields event
	if err := json.Unmarshal(data, (*fields)(e)); err != nil {
		if _, odd := errors.AsType[*json.UnmarshalTypeError](err); !odd {
			return err
		}
	}
	return nil
}

func (e event) sentAt() time.Time {
	if e.Time <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(e.Time).UTC()
}

// A message is the content of m.room.message.
type message struct {
	Type          string    `json:"msgtype,omitempty"`
	Body          string    `json:"body"`
	Filename      string    `json:"filename,omitempty"`
	Format        string    `json:"format,omitempty"`
	FormattedBody string    `json:"formatted_body,omitempty"`
	URL           string    `json:"url,omitempty"`
	Info          *fileInfo `json:"info,omitempty"`
	Mentions      *mentions `json:"m.mentions,omitempty"`
	RelatesTo     *relation `json:"m.relates_to,omitempty"`
	NewContent    *message  `json:"m.new_content,omitempty"`
}

type fileInfo struct {
	MIME string `json:"mimetype,omitempty"`
	Size int64  `json:"size,omitempty"`
}

type mentions struct {
	Users []string `json:"user_ids,omitempty"`
}

type relation struct {
	Type        string     `json:"rel_type,omitempty"`
	Event       string     `json:"event_id,omitempty"`
	FallingBack bool       `json:"is_falling_back,omitempty"`
	InReplyTo   *reference `json:"m.in_reply_to,omitempty"`
}

type reference struct {
	Event string `json:"event_id"`
}

type member struct {
	Membership string `json:"membership"`
}

const (
	typeMessage   = "m.room.message"
	typeSticker   = "m.sticker"
	typeMember    = "m.room.member"
	typeEncrypted = "m.room.encrypted"

	relReplace = "m.replace"
	relThread  = "m.thread"

	htmlFormat = "org.matrix.custom.html"
)

// own reports whether e makes user a member of that kind.
func (e event) own(user, membership string) bool {
	if e.Type != typeMember || e.StateKey == nil || *e.StateKey != user {
		return false
	}
	var m member
	return json.Unmarshal(e.Content, &m) == nil && m.Membership == membership
}

// joins reports whether user has come into the room by e.
func (e event) joins(user string) bool {
	return e.own(user, "join") && e.Unsigned.PrevContent.Membership != "join"
}
