// Package web is the channel web: a chat page below /chat, and the API that the
// page uses.
//
// Every host serves it. What a person writes is a message on plugin.inbound.web,
// what they have said and heard is read from the logs of their sessions, and what is
// new comes as server-sent events: replies by their place in AGENT_OUTBOUND, so that
// a page that was away misses none, and the text of a model as it is written.
//
// A person is the name of the token that was sent, or, where none is needed, an id
// in a cookie. A conversation is a thread of that person, so a session is
// web/dm/<person> or web/dm/<person>/<conversation>: the person's id is in each key,
// and comes from the login alone.
package web
