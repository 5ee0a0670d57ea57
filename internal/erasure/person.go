// Package erasure says whom an erasure is about, and keeps on a host whom it has to forget.
package erasure

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"agenthost/bus"
	"agenthost/session"
)

// A Person is one sender: From as the channel names them, on one account of a channel
// or, when Place is empty, on all of them.
type Person struct {
	Place string // <channel>[.<instance>]
	From  string
}

var (
	// IsPlace says whether a text is an account of a channel, as subjects have it.
	IsPlace = regexp.MustCompile(`^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})?$`)
	isKey   = regexp.MustCompile(`^[^/]+/(dm|group)/`)
)

// ParsePerson reads [<channel>[.<instance>]/]<from>.
func ParsePerson(text string) (Person, error) {
	place, from, ok := strings.Cut(text, "/")
	if !ok || !IsPlace.MatchString(place) {
		place, from = "", text
	}
	switch {
	case from == "":
		return Person{}, errors.New("name the person: <from>, or <channel>[.<instance>]/<from>")
	case isKey.MatchString(text):
		return Person{}, fmt.Errorf("%q is the key of a session; name the person as %s/%s", text, place, from[strings.IndexByte(from, '/')+1:])
	}
	return Person{place, from}, nil
}

// String is the person as ParsePerson reads them.
func (p Person) String() string {
	if p.Place == "" {
		return p.From
	}
	return p.Place + "/" + p.From
}

// At reports whether the person is one of those at a place; an empty place is unknown.
func (p Person) At(place string) bool { return p.Place == "" || p.Place == place }

// Wrote reports whether an envelope that came at a place is theirs.
func (p Person) Wrote(place, from string) bool {
	return p.At(place) && cmp.Or(from, Anonymous) == p.From
}

// Anonymous is who has written an envelope that does not say so.
const Anonymous = "anonymous"

// PlaceOf is the account of a channel that a subject belongs to; empty: none.
func PlaceOf(subject string) string {
	for _, prefix := range []string{bus.InboundPrefix, bus.OutboundPrefix} {
		if place, ok := strings.CutPrefix(subject, prefix); ok {
			return place
		}
	}
	return ""
}

// Escape writes an id as keys of sessions have it.
var Escape = strings.NewReplacer("%", "%25", "/", "%2F")

var fork = regexp.MustCompile(`~fork-\d+$`)

// Owns reports whether a key is that of a conversation with the person alone, of one of
// several with them, or of a fork of it.
func (p Person) Owns(key session.Key) bool {
	if from, id, ok := sender(key); ok {
		return p.Asked(from, id)
	}
	place, rest, ok := strings.Cut(string(key), "/dm/")
	if !ok || strings.Contains(place, "/") || place == "schedule" || !p.At(place) {
		return false
	}
	who, _, _ := strings.Cut(fork.ReplaceAllString(rest, ""), "/")
	return who == Escape.Replace(p.From)
}

// Logged reports whether an id is one that logs have of a message which came by an account of theirs
// and belongs to the session of another: the key of its chat, a colon, and the id as it was sent.
func (p Person) Logged(id string) bool {
	place, rest, ok := strings.Cut(id, "/dm/")
	return ok && IsPlace.MatchString(place) && p.At(place) && strings.HasPrefix(rest, Escape.Replace(p.From)+":")
}

// Routes is the place of those who send by route: programs, and operators with agenthost send.
const Routes = "route"

// Asked reports whether a task or an event that was sent by route is theirs, by whom it says it is
// from and its correlation id. A program has a prefix before its name once a host has it. A task of
// an agent, which may have that name as well, is known by its id.
func (p Person) Asked(from, id string) bool {
	if p.Place != "" && p.Place != Routes {
		return false
	}
	from = strings.TrimPrefix(from, bus.ProgramPrefix)
	return cmp.Or(from, Anonymous) == strings.TrimPrefix(p.From, bus.ProgramPrefix) && !ofAgent(from, id)
}

// ofAgent reports whether a task with that id was delegated in a session of an agent.
func ofAgent(agent, id string) bool {
	rest, ok := strings.CutPrefix(id, agent+".")
	sid, token, has := strings.Cut(rest, ".")
	return ok && has && token != "" && len(sid) == len(session.SID("", ""))
}

// Unescape reads what Escape has written.
var Unescape = strings.NewReplacer("%2F", "/", "%25", "%")

// sender is by whom the session of a task or an event was begun, and the id of the task.
func sender(key session.Key) (from, id string, ok bool) {
	kind, rest, _ := strings.Cut(string(key), "/")
	switch kind {
	case Routes:
		from, id, ok = strings.Cut(rest, "/")
	case "event":
		from, ok = rest, true
	}
	return Unescape.Replace(from), Unescape.Replace(id), ok
}
