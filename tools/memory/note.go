package memory

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A Note is one thing an agent remembers, as the bucket AGENT_MEMORY keeps it.
type Note struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	// Peer is the session key of the direct chat with the person it is about;
	// empty: the note is the agent's, for all its chats.
	Peer string `json:"peer,omitempty"`
	// Session is the key of the session in which the agent made the note.
	Session  string    `json:"session,omitempty"`
	Text     string    `json:"text"`
	At       time.Time `json:"at"`
	Used     int       `json:"used,omitempty"` // how often it was recalled, at most once an hour
	LastUsed time.Time `json:"last_used,omitzero"`

	entry string // its key, of what All lists
}

// About says in a word whom the note is for: person or agent.
func (n Note) About() string {
	if n.Peer == "" {
		return aboutAgent
	}
	return aboutPerson
}

const (
	aboutPerson = "person"
	aboutAgent  = "agent"
)

// noPeer stands in a key in the place of a person's hash.
const noPeer = "_"

// key is where the note is in the bucket. No word of a person becomes a part of
// it.
func (n Note) key() string {
	peer := noPeer
	if n.Peer != "" {
		peer = hash(n.Agent, n.Peer)[:20]
	}
	return n.Agent + "." + peer + "." + n.ID
}

// NoteID is the id of what a call remembers: the same when the call is made
// again. A call is named as [tools.Call.ID] has it.
func NoteID(agent, call string) string { return hash(agent, call)[:12] }

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// hash of an agent and the key of a session begins with the session's sid.
func hash(agent, s string) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + s))
	return encoding.EncodeToString(sum[:])
}

// personOf is the key of the direct chat with one person when the session is that,
// or a thread of it, else empty: in a group, at work for another agent and on a
// schedule private notes are not seen.
func personOf(session string) string {
	parts := strings.Split(session, "/")
	if n := len(parts); (n == 3 || n == 4) && parts[0] != "route" && parts[1] == "dm" && parts[2] != "" {
		return strings.Join(parts[:3], "/")
	}
	return ""
}

// read reads an entry of the bucket. A note that is not where its content says
// is refused: who may see it depends on the content.
func read(entry jetstream.KeyValueEntry) (Note, error) {
	n := Note{}
	if err := json.Unmarshal(entry.Value(), &n); err != nil {
		return Note{}, fmt.Errorf("read note %s: %w", entry.Key(), err)
	}
	if n.key() != entry.Key() {
		return Note{}, fmt.Errorf("read note %s: its content belongs to %s", entry.Key(), n.key())
	}
	return n, nil
}
