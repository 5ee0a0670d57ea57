package erase

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/internal/erasure"
	"agenthost/run"
	"agenthost/session"
)

// A redactor replaces what belongs to a person in JSON. Keys and ids by which programs
// find things stay as they are.
type redactor struct {
	person erasure.Person
	keys   map[session.Key]bool // of the sessions that are the person's
	ids    map[string]bool      // <agent>.<sid> of them
	tasks  map[string]bool      // correlation ids of what was delegated for the person
	chats  map[string]bool      // <place>/<chat>: direct chats with the person
	quotes words                // what the person has said, wherever it is found
	names  words                // their id and names, where they take part
}

// view is where a value is.
type view struct {
	place   string            // account of a channel
	sure    bool              // place is of a subject: the key of a session says nothing beside it
	senders bool              // from, to and by name people there, and no agents
	free    bool              // every text in it is what a person wrote
	words   []*words          // that are looked for
	other   map[string]string // ids of messages, and what they are called from now on
}

// at is the view of what came or goes by the account of a channel; empty: it is not known by which.
// Accounts that are one session have the key of one of them.
func (v view) at(place string) view {
	if place != "" {
		v.place, v.sure = place, true
	}
	return v
}

// structural are fields that are no one's words.
var structural = map[string]bool{
	"v": true, "type": true, "kind": true, "role": true, "at": true, "agent": true, "run": true, "call": true, "id": true, "subject": true, "stream": true,
	"phase": true, "provider": true, "model": true, "entry": true, "rerun": true, "source": true, "outcome": true, "code": true, "trigger": true,
	"wait": true, "scope": true, "door": true, "trace": true, "object": true, "mime": true, "host": true, "action": true, "point": true, "hook": true,
	"sent_at": true, "correlation_id": true, "in_reply_to": true, "channel": true, "instance": true, "version": true, "priority": true, "of": true, "spec": true,
}

// freely are fields below which all texts are what a person wrote.
var freely = map[string]bool{"args": true, "context": true, "meta": true}

// data is JSON with what is the person's erased; nil when nothing is. What is no JSON is
// read as a text.
func (r *redactor) data(data []byte, v view) []byte {
	tree, err := decode(data)
	if err != nil {
		if now := r.text(string(data), v); now != string(data) {
			return []byte(now)
		}
		return nil
	}
	now, changed := r.value(tree, "", v)
	if !changed {
		return nil
	}
	out, err := encode(now)
	if err != nil {
		return nil
	}
	return out
}

// identifies reports whether data has the person by a key, an id or an account of theirs, and
// not only by words that others say as well.
func (r *redactor) identifies(data []byte, v view) bool {
	v.words = nil
	return r.data(data, v) != nil
}

var errMore = errors.New("there is more than one JSON value")

// decode reads one JSON value. What has something behind it is a text, all of which has to be
// looked at.
func decode(data []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errMore
	}
	return tree, nil
}

func encode(tree any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(tree)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (r *redactor) value(tree any, field string, v view) (any, bool) {
	switch t := tree.(type) {
	case map[string]any:
		return r.object(t, v)
	case []any:
		changed := false
		for i, one := range t {
			now, is := r.value(one, field, v)
			if is {
				t[i], changed = now, true
			}
		}
		return t, changed
	case string:
		now := r.field(field, t, v)
		return now, now != t
	}
	return tree, false
}

func (r *redactor) object(t map[string]any, v view) (any, bool) {
	place := placeIn(t)
	ofSession := placeOfSession(t)
	_, out := t["session"]
	v.senders = (place != "" || ofSession != "" || v.sure && out) && t["kind"] != bus.RouteDelegate && t["type"] != string(run.Delegated)
	if v = v.at(place); !v.sure {
		v.place = cmp.Or(ofSession, v.place)
	}
	changed := false
	for name, one := range t {
		in := v
		in.free = v.free || freely[name]
		if env, ok := r.envelope(name, one, v); ok {
			t[name], changed = env, true
			continue
		}
		now, is := r.value(one, name, in)
		if is {
			t[name], changed = now, true
		}
		if in.free && name != r.text(name, in) {
			delete(t, name)
			t[r.text(name, in)], changed = now, true
		}
	}
	return t, changed
}

// envelope erases an inbound envelope of the person.
func (r *redactor) envelope(field string, one any, v view) (any, bool) {
	env, ok := one.(map[string]any)
	if !ok || field != "envelope" && field != "message" || v.free {
		return nil, false
	}
	if _, said := env["role"]; said {
		return nil, false
	}
	if _, out := env["session"]; out { // a reply
		return nil, false
	}
	from, _ := env["from"].(string)
	if _, kind := env["kind"]; kind || v.place == "" || !r.person.Wrote(v.place, from) {
		return nil, false
	}
	return erasedEnvelope(env), true
}

// erasedEnvelope is what is left of an envelope.
func erasedEnvelope(env map[string]any) map[string]any {
	left := map[string]any{"from": Erased, "name": Erased, "text": Erased}
	for _, name := range []string{"id", "chat", "group", "thread", "agent", "priority", "answers"} {
		if one, ok := env[name]; ok {
			left[name] = one
		}
	}
	if left["group"] != true {
		delete(left, "chat")
	}
	return left
}

// placeIn is the place that an object says it is about; empty: it does not.
func placeIn(t map[string]any) string {
	for _, name := range []string{"subject", "door"} {
		if s, ok := t[name].(string); ok && erasure.PlaceOf(s) != "" {
			return erasure.PlaceOf(s)
		}
	}
	if channel, ok := t["channel"].(string); ok {
		if instance, _ := t["instance"].(string); instance != "" {
			return channel + "." + instance
		}
		return channel
	}
	return ""
}

// placeOfSession is the place of the session that an object says it is about; empty: it does not,
// or the session is no chat.
func placeOfSession(t map[string]any) string {
	key, ok := t["session"].(string)
	if !ok || !session.Key(key).IsChat() {
		return ""
	}
	place, _, _ := strings.Cut(key, "/")
	return place
}

// field is what becomes of a string.
func (r *redactor) field(name, s string, v view) string {
	switch {
	case v.other[s] != "":
		return v.other[s]
	case v.free:
		return r.text(s, v)
	case v.senders && (name == "from" || name == "to" || name == "by") && s == r.person.From && r.person.At(v.place):
		return Erased
	case name == "chat" && r.chats[v.place+"/"+s]:
		return Erased
	case r.ownKey(s), r.account(s):
		return Erased
	case r.ownID(s), r.person.Logged(s):
		return Erased
	case structural[name], name == "chat", name == "thread", name == "key", name == "session":
		return s
	}
	return r.text(s, v)
}

func (r *redactor) text(s string, v view) string {
	for _, w := range v.words {
		s = w.replace(s)
	}
	return s
}

// ownKey reports whether s is the key of a session of the person.
func (r *redactor) ownKey(s string) bool {
	return strings.Contains(s, "/") && (r.keys[session.Key(s)] || r.person.Owns(session.Key(s)))
}

// account reports whether s is the person as configurations name them.
func (r *redactor) account(s string) bool {
	place, from, ok := strings.Cut(s, "/")
	return ok && from == r.person.From && r.person.At(place) && erasure.IsPlace.MatchString(place)
}

// ownID reports whether s is the id of something in a session of the person, such as that of
// a question: <agent>.<sid>.<token>.
func (r *redactor) ownID(s string) bool {
	if r.tasks[s] {
		return true
	}
	if strings.ContainsAny(s, " /") {
		return false
	}
	parts := strings.SplitN(s, ".", 3)
	return len(parts) >= 2 && r.ids[parts[0]+"."+parts[1]]
}

// header reports whether a header is about the person.
func (r *redactor) header(values []string) bool {
	return slices.ContainsFunc(values, func(s string) bool { return r.ownKey(s) || r.account(s) || r.ownID(s) })
}
