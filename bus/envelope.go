package bus

import (
	"encoding/json"
	"strings"
	"time"
)

// LongestID is how many bytes the id of a message may have: a session remembers
// thousands of them.
const LongestID = 256

// Inbound is what a plugin publishes on plugin.inbound.<channel>[.<instance>].
type Inbound struct {
	ID     string `json:"id,omitempty"`
	From   string `json:"from,omitempty"`
	Name   string `json:"name,omitempty"`
	Chat   string `json:"chat,omitempty"`
	Group  bool   `json:"group,omitempty"`
	Thread string `json:"thread,omitempty"`
	// Conversation is one of several with the same person, each a session of its own;
	// empty: the one.
	Conversation string  `json:"conversation,omitempty"`
	Text         string  `json:"text,omitempty"`
	Media        []Media `json:"media,omitempty"`
	Priority     string  `json:"priority,omitempty"`
	// Agent means that one of the agents that are bound to the subject alone.
	Agent   string `json:"agent,omitempty"`
	Answers string `json:"answers,omitempty"`
	// Edits names a message of the same sender that waits, and gets the text and the
	// media of this one; Withdraws one that gets no answer.
	Edits     string `json:"edits,omitempty"`
	Withdraws string `json:"withdraws,omitempty"`
	ReplyTo   string `json:"reply_to,omitempty"`
	SentAt    string `json:"sent_at,omitempty"`
	// History is what was said before, in a conversation that a door's client keeps. It
	// counts in a session that is new.
	History []Turn `json:"history,omitempty"`
	// Tools are those that a door's client runs itself. A call of one waits like a
	// question, until a message answers it.
	Tools []ClientTool   `json:"tools,omitempty"`
	Meta  map[string]any `json:"meta,omitempty"`
}

// MetaOption is the key in Meta of the number, from 1, of the option that a button stands
// for. In a message that answers a question it goes before the text. Without the question's id it
// is the number that a text is alone, on a platform that has shown the options as numbered lines.
const MetaOption = "option"

// Option is the number of the option that was pressed, or of its line; 0: none was.
func (in *Inbound) Option() int {
	n, _ := in.Meta[MetaOption].(float64)
	return int(n)
}

// MetaSubject is the key in Meta of the subject of a mail.
const MetaSubject = "subject"

// subjectLine is before the subject in the text of the first mail of a thread.
const subjectLine = "Subject: "

// Said is the text without the subject before it: an order, or an answer, in the first mail of a
// thread is one all the same. A mail without text says its subject.
func (in *Inbound) Said() string {
	subject, _ := in.Meta[MetaSubject].(string)
	if subject == "" { // as mostly
		return in.Text
	}
	rest, ok := strings.CutPrefix(in.Text, subjectLine+subject)
	switch {
	case !ok || rest != "" && rest[0] != '\n':
		return in.Text
	case strings.TrimSpace(rest) == "":
		return subject
	}
	return strings.TrimSpace(rest)
}

// A Turn is what one side said before the message of an inbound envelope.
type Turn struct {
	Role  string  `json:"role"` // TurnUser or TurnAssistant
	Text  string  `json:"text,omitempty"`
	Media []Media `json:"media,omitempty"`
}

// A ClientTool is a tool that is run by who sends a message.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema of an object
}

// Who speaks in a Turn.
const (
	TurnUser      = "user"
	TurnAssistant = "assistant"
)

// WholeText is the name of the attachment that has the text of a reply or result which is too long
// for a message: the message has the beginning of it.
const WholeText = "reply.txt"

// Media is an attachment, by URL or by the name of an object in AGENT_FILES.
type Media struct {
	Kind   string `json:"kind,omitempty"`
	MIME   string `json:"mime,omitempty"`
	Name   string `json:"name,omitempty"`
	Size   int64  `json:"size,omitempty"`
	URL    string `json:"url,omitempty"`
	Object string `json:"object,omitempty"`
}

// Outbound is what an agent publishes on plugin.outbound.<channel>[.<instance>].
type Outbound struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Session   string    `json:"session"`
	Run       string    `json:"run"`
	Kind      string    `json:"kind"`
	To        string    `json:"to,omitempty"`
	Chat      string    `json:"chat,omitempty"`
	Thread    string    `json:"thread,omitempty"`
	Text      string    `json:"text"`
	Media     []Media   `json:"media,omitempty"`
	InReplyTo string    `json:"in_reply_to,omitempty"`
	Merged    []string  `json:"merged,omitempty"` // every message this run answers, when there are several
	Cut       bool      `json:"cut,omitempty"`    // the model ended it at its longest length
	Final     bool      `json:"final"`
	Call      string    `json:"call,omitempty"`
	Options   []string  `json:"options,omitempty"`
	Error     *Error    `json:"error,omitempty"`
	SentAt    time.Time `json:"sent_at"`
}

// The kinds of outbound messages.
const (
	KindReply    = "reply"
	KindNotice   = "notice"
	KindQuestion = "question"
	KindApproval = "approval"
	KindError    = "error"
)

// An Error is a code of the closed set with a sentence fit to show a person.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The doors besides chats.
const (
	DoorCLI      = "cli"
	DoorAPI      = "api"
	DoorDeadline = "deadline" // the time for an answer is over
	DoorAgent    = "agent"    // of an order to stop: who has given the work has ended
)
