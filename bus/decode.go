package bus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"agenthost/fastjson"
)

// ErrMalformed wraps every reason for which a payload cannot be a message.
var ErrMalformed = errors.New("malformed message")

// ErrNoContent is the one for which it says nothing.
var ErrNoContent = fmt.Errorf("%w: it has neither text nor media", ErrMalformed)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// DecodeInbound reads the payload of an inbound message. A payload that is not
// a JSON object is itself the text. The error, if any, wraps ErrMalformed and
// says what is wrong in words.
func DecodeInbound(data []byte) (Inbound, error) {
	in := Inbound{}
	if !utf8.Valid(data) || !fastjson.Fields(data, in.set) {
		in = Inbound{}
		if err := decodeText(data, &in, &in.Text); err != nil {
			return Inbound{}, err
		}
	}
	return in, in.check()
}

// ReadInbound reads what DecodeInbound has taken before, as a log keeps it.
func ReadInbound(data []byte) (Inbound, error) {
	in := Inbound{}
	err := json.Unmarshal(exact(data), &in)
	return in, err
}

// set takes a field as encoding/json does. It is false when that should do the
// whole: for a field that it would refuse, or whose name has escapes.
func (in *Inbound) set(name, value []byte) bool {
	var field any
	switch string(name) {
	case "id":
		field = &in.ID
	case "from":
		field = &in.From
	case "name":
		field = &in.Name
	case "chat":
		field = &in.Chat
	case "group":
		field = &in.Group
	case "thread":
		field = &in.Thread
	case "conversation":
		field = &in.Conversation
	case "text":
		field = &in.Text
	case "media":
		field = &in.Media
	case "priority":
		field = &in.Priority
	case "agent":
		field = &in.Agent
	case "answers":
		field = &in.Answers
	case "edits":
		field = &in.Edits
	case "withdraws":
		field = &in.Withdraws
	case "reply_to":
		field = &in.ReplyTo
	case "sent_at":
		field = &in.SentAt
	case "history":
		field = &in.History
	case "tools":
		field = &in.Tools
	case "meta":
		field = &in.Meta
	default:
		return bytes.IndexByte(name, '\\') < 0
	}
	if s, is := field.(*string); is {
		if text, plain := fastjson.Plain(value); plain {
			*s = string(text)
			return true
		}
	}
	if field == &in.Media || field == &in.History {
		value = exact(value)
	}
	return json.Unmarshal(value, field) == nil
}

func (in *Inbound) check() error {
	switch {
	case in.Edits != "" && in.Withdraws != "":
		return malformed("it has both edits and withdraws; it can have one of them")
	case strings.TrimSpace(in.Text) == "" && len(in.Media) == 0 && in.Withdraws == "" && in.Answers == "": // an answer may be left to the default
		return ErrNoContent
	case in.Group && in.Chat == "":
		return malformed("it has no chat, which a message of a group names")
	case strings.ContainsRune(in.Text, 0):
		return malformed("its text holds a NUL character")
	}
	switch in.Priority {
	case "", "now", "next", "later":
	default:
		return malformed("priority is %q; it can be now, next or later", clip(in.Priority))
	}
	for i, turn := range in.History {
		if err := turn.check(); err != nil {
			return malformed("history[%d]: %s", i, err)
		}
	}
	for i, tool := range in.Tools {
		if err := tool.check(); err != nil {
			return malformed("tools[%d]: %s", i, err)
		}
	}
	return checkMedia(in.Media)
}

// CheckIDs refuses an envelope of which an id is longer than LongestID. Decoding does not:
// a host says so to the person, and keeps the message as a dead letter.
func (in *Inbound) CheckIDs() error {
	for _, id := range []struct{ field, value string }{{"id", in.ID}, {"from", in.From}, {"chat", in.Chat}, {"thread", in.Thread}} {
		if n := len(id.value); n > LongestID {
			return malformed("its %s has %d bytes; want at most %d", id.field, n, LongestID)
		}
	}
	return nil
}

// toolName is how models name tools.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (t ClientTool) check() error {
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Errorf("name is %q; want up to 64 letters, digits, _ and -", clip(t.Name))
	case len(t.Parameters) > 0 && !IsObject(t.Parameters):
		return errors.New("parameters is no JSON Schema of an object")
	}
	return nil
}

func (t Turn) check() error {
	switch {
	case t.Role != TurnUser && t.Role != TurnAssistant:
		return fmt.Errorf("role is %q; it can be user or assistant", clip(t.Role))
	case strings.TrimSpace(t.Text) == "" && len(t.Media) == 0:
		return errors.New("it has neither text nor media")
	case strings.ContainsRune(t.Text, 0):
		return errors.New("its text holds a NUL character")
	}
	return checkMedia(t.Media)
}

func checkMedia(media []Media) error {
	for i, m := range media {
		if m.URL == "" && m.Object == "" {
			return malformed("media[%d] has neither url nor object", i)
		}
	}
	return nil
}

// decodeText decodes data into v when it is a JSON object and into text when
// it is anything else.
func decodeText(data []byte, v any, text *string) error {
	if !utf8.Valid(data) {
		return malformed("it is not UTF-8")
	}
	if !IsObject(data) {
		*text = string(data)
		return nil
	}
	if fastjson.TooDeep(data) {
		return malformed("more than %d of its objects and arrays stand in each other; send such a value as text", fastjson.Deepest)
	}
	data = exact(data)
	if json.Unmarshal(data, v) == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data)) // whose error says more
	if err := dec.Decode(v); err != nil {
		return malformed("%s", jsonReason(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return malformed("something follows the JSON object")
	}
	return nil
}

// IsObject reports whether a payload means to be a JSON object. Any other is
// plain text, whatever it looks like.
func IsObject(data []byte) bool {
	body := bytes.TrimLeft(data, " \t\r\n")
	return len(body) > 0 && body[0] == '{'
}

// jsonReason is JSONFault for what this package decodes.
func jsonReason(err error) string {
	if why, ok := wordedFault(err); ok {
		return why
	}
	return "deadline or due is not a time such as 2026-01-02T15:04:05Z" // the only fields that read themselves
}

// JSONFault words an error of encoding/json for the person who wrote the JSON, who knows no type
// of Go.
func JSONFault(err error) string {
	if why, ok := wordedFault(err); ok {
		return why
	}
	return err.Error()
}

func wordedFault(err error) (why string, ok bool) {
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		article := "a"
		if typ.Value == "array" || typ.Value == "object" {
			article = "an"
		}
		if typ.Field == "" {
			return fmt.Sprintf("it is %s %s", article, clip(typ.Value)), true
		}
		return fmt.Sprintf("%s cannot be %s %s", clip(fieldPath(typ.Field)), article, clip(typ.Value)), true
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "its JSON is invalid: " + syntax.Error(), true
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "its JSON ends too early", true
	}
	return "", false
}

// fieldPath is where in the JSON a field is: without the names of embedded structs, which
// encoding/json puts before it.
func fieldPath(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), func(part string) bool {
		return part != "" && 'A' <= part[0] && part[0] <= 'Z'
	})
	return cmp.Or(strings.Join(parts, "."), path)
}

// clip bounds a piece of foreign text for an error message.
func clip(s string) string { return clipTo(s, 60) }

func clipTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
