package plugins

import (
	"encoding/json"
	"time"

	"agenthost/bus"
)

// A Place is where a conversation is: with one person, or in a chat.
type Place struct {
	To     string // the person
	Chat   string // empty where the platform has no chats beside persons
	Thread string
}

// A Received is what a person has written, or which button they have pressed.
type Received struct {
	// ID is the platform's own id of the message, such as tg-8841-17: what the
	// platform sends twice is one message.
	ID     string
	From   string // the platform's id of the person
	Name   string // what people call them
	Chat   string
	Group  bool
	Thread string
	Text   string
	// Files are stored before the message. What is too large is left out, and the
	// text says so.
	Files   []File
	ReplyTo string // the id of the message that is answered, as Received.ID or Deliver named it
	Edits   string // the ID of an earlier message that this one replaces
	SentAt  time.Time
	Meta    map[string]any
	// Mentioned is true when a message in a group is for the agent: it is mentioned or
	// replied to.
	Mentioned bool
	// Pressed is Button.Data of a button that was pressed.
	Pressed string
	// Since is when a message with this id came first, if the channel knows: Ask takes no
	// reply for the one to it that is much older.
	Since time.Time
	// Raw is the whole envelope of a channel whose other side writes it itself. It is
	// published as it is; of the fields above only ID and Since are used.
	Raw json.RawMessage
}

// A Message is what goes to the platform at once: a part of a reply, or one of its
// files.
type Message struct {
	// Key is the same when the message is sent again, and no other message has it: the
	// id of the reply, or of one in several parts the id, a slash and the part.
	Key string
	Place
	Kind string // of the reply, such as bus.KindApproval
	// Text is a part of the reply as Limits.Render makes it; Plain says the same
	// without markup, for a platform that refuses Text.
	Text, Plain string
	File        *File
	Buttons     []Button
	// ReplyTo is Received.ID of the message that is answered.
	ReplyTo string
	// Preview is what Preview has returned last: the message takes its place. Empty:
	// there is no preview.
	Preview string
	// Part counts the messages of a reply from 1, Parts is how many there are.
	Part, Parts int
	// Reply is the whole reply; Envelope is how it was published.
	Reply    *bus.Outbound
	Envelope json.RawMessage

	object string // in AGENT_FILES, of File
}

// A File is an attachment.
type File struct {
	Name string
	MIME string
	Kind string // image, audio, video or file
	Data []byte
	// URL is where the file is, when Data is empty.
	URL string
	// Size is that of a received file which was too large to load; Data is empty then.
	Size int64
}

// A Button answers a question when it is pressed.
type Button struct {
	Label string
	Data  string // at most 64 bytes, for Received.Pressed
}
