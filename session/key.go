package session

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// A Key names a session within its agent. Two keys are equal only if all they
// were made from is equal: the ids in them appear as they are, except that
// what would blur the border between two ids is percent-escaped.
type Key string

// routes is the first part of a delegate's key.
const routes = "route"

var (
	escapeID      = strings.NewReplacer("%", "%25", "/", "%2F")
	escapeChannel = strings.NewReplacer("%", "%25", "/", "%2F", ".", "%2E")
)

// DM is the key of the conversation with one person: channel.instance/dm/from.
// An empty instance leaves out its dot.
func DM(channel, instance, from string) Key {
	return Key(place(channel, instance) + "/dm/" + escapeID.Replace(from))
}

// DMConversation is DM for one of several conversations with a person:
// channel.instance/dm/from/conversation. An empty one leaves out its slash.
func DMConversation(channel, instance, from, conversation string) Key {
	key := DM(channel, instance, from)
	if conversation != "" {
		key += Key("/" + escapeID.Replace(conversation))
	}
	return key
}

// Group is the key of a group chat, or of one thread in it:
// channel.instance/group/chat/thread. An empty instance leaves out its dot, an
// empty thread its slash.
func Group(channel, instance, chat, thread string) Key {
	key := place(channel, instance) + "/group/" + escapeID.Replace(chat)
	if thread != "" {
		key += "/" + escapeID.Replace(thread)
	}
	return Key(key)
}

// Route is the key of the work another agent has delegated:
// route/from/correlationID.
func Route(from, correlationID string) Key {
	return Key(routes + "/" + escapeID.Replace(from) + "/" + escapeID.Replace(correlationID))
}

// Schedule is the key of what a schedule starts: schedule/name.
func Schedule(name string) Key {
	return Key("schedule/" + escapeID.Replace(name))
}

// Event is the key of what the messages on a subject start: event/subject.
func Event(subject string) Key {
	return Key("event/" + escapeID.Replace(subject))
}

// Account is an id of the account whose chat has that key.
func (k Key) Account(id string) string { return string(k) + ":" + id }

// LoggedID is the id that the log of a session has of a message of the chat with key own: that
// which it was sent with, and where the session is of another account, the account before it.
func LoggedID(id string, own, joined Key) string {
	if own == joined {
		return id
	}
	return own.Account(id)
}

// IsChat reports whether it is the key of a conversation with a person or a group.
func (k Key) IsChat() bool {
	place, rest, _ := strings.Cut(string(k), "/")
	return place != routes && (strings.HasPrefix(rest, "dm/") || strings.HasPrefix(rest, "group/")) && place != "schedule" && place != "event"
}

// IsGroup reports whether it is the key of a conversation with a group.
func (k Key) IsGroup() bool {
	_, rest, _ := strings.Cut(string(k), "/")
	return k.IsChat() && strings.HasPrefix(rest, "group/")
}

// place is the part of a key that says where a conversation takes place.
func place(channel, instance string) string {
	if instance != "" {
		return escapeChannel.Replace(channel) + "." + escapeID.Replace(instance)
	}
	if channel == routes { // else route/dm/x would be a person's and agent dm's
		return "%72oute"
	}
	return escapeChannel.Replace(channel)
}

// sidLength characters of five bits each make two equal SIDs unthinkable:
// among a thousand million sessions the chance is less than 1 in 10¹².
const sidLength = 20

var sidEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// SID is the name of a session in subjects: 20 characters of a-z and 2-7 that
// depend on agent and key alone. It is not a secret: it can be computed
// from both.
func SID(agent string, key Key) string {
	var sum [sha256.Size]byte
	digest := sha256.New()
	var block [128]byte // a []byte(s) would allocate
	for _, s := range [...]string{agent, "\x00", string(key)} {
		for len(s) > 0 {
			n := copy(block[:], s)
			digest.Write(block[:n])
			s = s[n:]
		}
	}
	digest.Sum(sum[:0])
	var text [sidLength + 1]byte // 13 bytes are 21 characters
	sidEncoding.Encode(text[:], sum[:13])
	return string(text[:sidLength])
}
