package plugins

import (
	"context"
	"net/http"
	"time"
)

// A Channel is one account on a platform. A Courier calls Run once at a time, on
// the host that owns the account, and the other methods while Run runs: for one
// chat one after the other, for different chats side by side.
type Channel interface {
	// Run logs the account in and hands what people write to the inbox, until ctx
	// ends or the connection is lost. It calls Inbox.Connected once it is logged in,
	// and tells the platform that a message was taken only when Inbox.Take has
	// returned nil. A [LoginError] is tried again every five minutes, a [RateLimitError]
	// when it says, any other error soon.
	Run(ctx context.Context, in *Inbox) error
	// Deliver sends one message and returns the platform's name for it. A
	// [PermanentError] makes the reply a dead letter, a [RateLimitError] pauses the
	// chat or the account, a [LoginError] has one message tried every five minutes, any
	// other error is tried again.
	Deliver(ctx context.Context, m Message) (id string, err error)
	// Typing shows for a few seconds that an answer is being written.
	Typing(ctx context.Context, to Place) error
	// Preview shows what is written so far, in place of the preview with that id; an
	// empty one is the first. It returns the id for the next, and for Message.Preview.
	// The text is rendered and fits, as that of a Message. When a reply comes meanwhile,
	// ctx ends soon, as it does for Typing at once.
	Preview(ctx context.Context, to Place, id, text string) (string, error)
	// Limits are what the platform takes. They do not change.
	Limits() Limits
}

// A Maker makes a program's own channel from what the configuration says of one
// of its accounts, beside the keys that every account may have.
type Maker func(settings map[string]any) (Channel, error)

// Limits say what a platform takes, and what it can do.
type Limits struct {
	// Text is how long a message may be, as Measure counts; 0: any length.
	Text int
	// Measure is the length of a rendered text in the platform's own unit; nil: runes.
	Measure func(text string) int
	// Render makes the platform's own markup from Markdown; nil: it is sent as it is.
	Render func(markdown string) string
	// Line is true where a message is one line: each line of a text is a message.
	Line bool
	// File is how large a file may be, in bytes; 0: the platform takes none, and a
	// line with its name stands for it.
	File int64
	// Buttons is how many buttons a message has at most; 0: none, options are
	// numbered lines.
	Buttons int
	// Typing is after how long Typing has to be called again; 0: the platform has no
	// such thing.
	Typing time.Duration
	// Preview is the shortest time between two previews of a chat; 0: the platform
	// has none.
	Preview time.Duration
	// Whole is true for a channel that takes each reply whole, as its envelope is:
	// nothing is split, rendered or loaded.
	Whole bool
	// Idempotent is true where the platform takes a message with the same Key once, at
	// least for some minutes: then also the one that was under way in a crash comes once.
	Idempotent bool
	// Drains is true where Run, once its ctx has ended, brings the deliveries under way to an
	// end itself. Elsewhere it runs until they have ended.
	Drains bool
}

// A Receiver is a Channel to which the platform sends HTTP requests. Every host
// serves them, whichever owns the account.
type Receiver interface {
	Channel
	// Handler answers the requests below /hooks/<path>; the path is that of the
	// account in the table of channels.
	Handler(in *Inbox) http.Handler
}

// A DeltaReader is a Channel that wants the pieces of an answer as they come, in
// place of previews.
type DeltaReader interface {
	Channel
	// Delta is one piece of what an agent says in a session. It must not block.
	Delta(d Delta)
}

// A Delta is a piece of an answer.
type Delta struct {
	Agent   string
	Session string // its key
	To      Place
	Text    string
}
