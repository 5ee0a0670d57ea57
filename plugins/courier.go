package plugins

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/plugins/settings"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An Account is one account of a channel.
type Account struct {
	Channel  string
	Instance string // empty where the channel has one account
	Settings settings.Account
}

// String is how the account is called in subjects: channel, or channel.instance.
func (a Account) String() string {
	if a.Instance == "" {
		return a.Channel
	}
	return a.Channel + "." + a.Instance
}

// consumer is the durable that brings replies.
func (a Account) consumer() string { return "plugin-" + strings.ReplaceAll(a.String(), ".", "-") }

func (a Account) inbound() string  { return bus.InboundPrefix + a.String() }
func (a Account) outbound() string { return bus.OutboundPrefix + a.String() }
func (a Account) claim() string    { return bus.OwnerPrefix + a.String() }

func (a Account) maxFile() int64 { return int64(cmp.Or(a.Settings.MaxFile, settings.DefaultMaxFile)) }

func (a Account) deliverFor() time.Duration {
	return cmp.Or(a.Settings.DeliverFor, settings.DefaultDeliverFor)
}

// Parts are what a Courier works with; all of them are needed, but for those that say otherwise.
type Parts struct {
	NC        *nats.Conn
	JS        jetstream.JetStream
	Publisher *publishing.Publisher // which runs
	Files     *filestore.Store
	Reader    *records.Reader
	Host      string // the name of this host in the fleet
	Log       zerolog.Logger
	Agents    func() []string // the ids of those that are bound to the account, at this moment
	// Session is the session of the direct chat with that key; nil: its own.
	Session func(session.Key) session.Key
	// Buried is called with the agent of each reply that becomes a dead letter. It may be nil.
	Buried func(agent string)
}

// A Courier serves one account of a channel. Of all hosts that run one for the same
// account, one owns it at a time: there the channel runs, and replies are delivered.
// The Inbox works on every host.
//
// Replies go out in the order of their chat, and chats side by side. A reply is
// acknowledged when the platform has taken its last part, or when it has become a
// dead letter; until then it comes again, here or on the next owner.
type Courier struct {
	account Account
	channel Channel
	limits  Limits
	parts   Parts
	log     zerolog.Logger
	few     zerolog.Logger // for what each message may meet
	refused zerolog.Logger // for what people write, apart: a flood of it hides nothing else
	inbox   *Inbox
	status  *status
	notes   notes
	settled *settled
	taken   *taken
	term    atomic.Pointer[term] // nil: this host does not own the account
	// position is up to where the account's consumer was acknowledged when this host has
	// looked last. Only the goroutine of Run uses it.
	position uint64
	created  time.Time // when the stream was made in which that is
	all      bool      // a consumer is to begin with the first reply of the stream
	// maxAge is for how long NATS keeps replies, 0 is for ever. It changes between terms.
	maxAge time.Duration
}

// New makes a Courier; Run starts it.
func New(account Account, channel Channel, parts Parts) *Courier {
	c := &Courier{
		account: account, channel: channel, limits: channel.Limits(), parts: parts,
		log:     parts.Log.With().Str("channel", account.Channel).Str("instance", account.Instance).Logger(),
		status:  newStatus(account),
		settled: newSettled(), taken: newTaken(),
	}
	c.few, c.refused = bus.Few(c.log), bus.Few(c.log)
	c.inbox = &Inbox{courier: c}
	c.notes = notes{account: account, publisher: parts.Publisher, reader: parts.Reader}
	return c
}

// replyLife is how long it is remembered what was delivered of a reply, 0 is for ever.
func (c *Courier) replyLife() time.Duration {
	if c.maxAge == 0 {
		return 0
	}
	return max(c.maxAge, c.account.deliverFor()) + noteRoom
}

// Inbox takes what people write, also on a host that does not own the account and
// while Run does not run.
func (c *Courier) Inbox() *Inbox { return c.inbox }

// Status is how the account is doing on this host.
func (c *Courier) Status() Status { return c.status.snapshot() }

// Run serves the account until ctx ends: it stands by, or owns it. A delivery under
// way has 35 seconds to end then, and another host owns the account at once.
func (c *Courier) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.serve(ctx); err != nil && ctx.Err() == nil {
			c.status.failed(StateNoNATS, err)
			c.few.Warn().Err(err).Msg("serve account: failed; retrying")
			bus.Pause(ctx, time.Second)
		}
	}
	c.status.set(StateStopped)
	return nil
}
