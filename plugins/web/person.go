package web

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"time"

	"agenthost/internal/httpauth"
	"agenthost/session"
)

// A person is who chats.
type person struct {
	id   string // from of their messages
	name string // what people call them; empty: unknown
}

const (
	personCookie = "agenthost_person"
	personFor    = 400 * 24 * time.Hour // browsers keep none longer
	// visitorHeader tells apart those who use one token in an embedded page.
	visitorHeader = "Agenthost-Visitor"
)

var isRandom = regexp.MustCompile(`^[0-9a-f]{32}$`)

// personOf is who makes a request that was let in. The names of tokens have no ~, so
// a visitor is never another person.
func (w *Web) personOf(rw http.ResponseWriter, r *http.Request) person {
	c, visitor := httpauth.CallerOf(r.Context()), r.Header.Get(visitorHeader)
	if !isRandom.MatchString(visitor) {
		visitor = ""
	}
	switch {
	case c.Open && visitor != "":
		return person{id: "guest-" + visitor}
	case c.Open:
		return person{id: "guest-" + guest(rw, r)}
	case c.Role == httpauth.Chat && visitor != "":
		return person{id: c.Name + "~" + visitor}
	}
	return person{id: c.Name, name: c.Name}
}

// guest is the id in the cookie of a person who needs no token. It is as good as a
// password: no script reads it, and it has 128 random bits.
func guest(rw http.ResponseWriter, r *http.Request) string {
	if c, err := r.Cookie(personCookie); err == nil && isRandom.MatchString(c.Value) {
		return c.Value
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	http.SetCookie(rw, &http.Cookie{
		Name: personCookie, Value: id, Path: "/chat", Expires: time.Now().Add(personFor),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: httpauth.Secure(r),
	})
	return id
}

// A place is a conversation of a person with an agent.
type place struct {
	agent, person, thread string
}

// mainConversation is the one without a thread, where notices come.
const mainConversation = "main"

var isConversation = regexp.MustCompile(`^[a-z0-9]{8,40}$`)

// placeOf is the conversation that a request names; false: it does not exist.
func (w *Web) placeOf(c httpauth.Caller, p person, agent, conversation string) (place, bool) {
	known := slices.ContainsFunc(w.agentsFor(c), func(a Agent) bool { return a.ID == agent })
	switch {
	case !known:
		return place{}, false
	case conversation == mainConversation:
		return place{agent: agent, person: p.id}, true
	}
	return place{agent, p.id, conversation}, isConversation.MatchString(conversation)
}

// keyOf is that of the session of a conversation.
func (w *Web) keyOf(p place) string {
	key := session.DMConversation(channel, "", p.person, p.thread)
	if w.parts.Session != nil {
		key = w.parts.Session(key)
	}
	return string(key)
}

func threadOf(conversation string) string {
	if conversation == mainConversation {
		return ""
	}
	return conversation
}

func conversationID(thread string) string {
	if thread == "" {
		return mainConversation
	}
	return thread
}
