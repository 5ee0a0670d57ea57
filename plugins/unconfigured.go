package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	// SweepEvery is how often the consumers of accounts are to be looked at.
	SweepEvery = time.Minute
	// keepUnconfigured is for how long no host has an account before its consumer is
	// removed: longer than the restart of a fleet.
	keepUnconfigured = time.Hour
)

// An Unconfigured account is one that no host of the fleet has in its configuration.
type Unconfigured struct {
	Account
	Waiting int // replies that are not delivered
}

// A Cleaner removes the consumers of accounts that no host of the fleet has in its
// configuration any more. Replies that wait are kept: their consumer is removed when they
// have expired with their stream. Every host may run one.
type Cleaner struct {
	JS        jetstream.JetStream
	Publisher *publishing.Publisher // which runs
	// Configured are the accounts that hosts have, by name in subjects; an error when
	// that is not known.
	Configured func(context.Context) (map[string]bool, error)
	Log        zerolog.Logger

	since map[string]time.Time // no host has the account, by name
	found atomic.Pointer[[]Unconfigured]
}

// Sweep looks at all consumers. It is not called twice at a time.
func (c *Cleaner) Sweep(ctx context.Context) {
	if c.since == nil {
		c.since = map[string]time.Time{}
	}
	if err := c.sweep(ctx); err != nil && ctx.Err() == nil {
		c.Log.Debug().Err(err).Msg("look for accounts that are not configured: failed; retrying")
	}
}

// Found are the accounts that the last look has found.
func (c *Cleaner) Found() []Unconfigured {
	if list := c.found.Load(); list != nil {
		return *list
	}
	return nil
}

func (c *Cleaner) sweep(ctx context.Context) error {
	stream, err := c.JS.Stream(ctx, bus.OutboundStream)
	if err != nil {
		return err
	}
	ours := map[string]*jetstream.ConsumerInfo{}
	consumers := stream.ListConsumers(ctx)
	for info := range consumers.Info() {
		if account, ok := accountOf(info.Config); ok && pinnedClient(info) == "" {
			ours[account.String()] = info
		}
	}
	if err := consumers.Err(); err != nil {
		return err
	}
	configured := map[string]bool{}
	if len(ours) > 0 {
		if configured, err = c.Configured(ctx); err != nil {
			return err
		}
	}
	var found []Unconfigured
	since := map[string]time.Time{}
	for name, info := range ours {
		if configured[name] {
			continue
		}
		account, _ := accountOf(info.Config)
		since[name] = time.Now()
		if known, ok := c.since[name]; ok {
			since[name] = known
		}
		if time.Since(since[name]) >= keepUnconfigured {
			removed, err := c.remove(ctx, account)
			if err != nil {
				return err
			}
			if removed {
				continue
			}
		}
		found = append(found, Unconfigured{account, waiting(info)})
	}
	c.since = since
	c.found.Store(&found)
	return nil
}

// accountOf is the account whose consumer this is.
func accountOf(config jetstream.ConsumerConfig) (a Account, ok bool) {
	if !isAccounts(config) {
		return a, false
	}
	for _, filter := range config.FilterSubjects {
		if name, found := strings.CutPrefix(filter, bus.OutboundPrefix); found {
			a.Channel, a.Instance, _ = strings.Cut(name, ".")
		}
	}
	return a, a.Channel != "" && config.Durable == a.consumer()
}

// waiting is how many replies are not delivered.
func waiting(info *jetstream.ConsumerInfo) int { return int(info.NumPending) + info.NumAckPending } //nolint:gosec // a stream has fewer

// remove deletes the consumer of an account, if nothing waits and no host asks for it now.
// Where the next one begins is noted before: what is said meanwhile is not lost when the
// account comes back.
func (c *Cleaner) remove(ctx context.Context, account Account) (bool, error) {
	consumer, err := c.JS.Consumer(ctx, bus.OutboundStream, account.consumer())
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	info := consumer.CachedInfo()
	if waiting(info) > 0 || pinnedClient(info) != "" {
		return false, nil
	}
	n := notes{account: account, publisher: c.Publisher}
	note, err := json.Marshal(holder{Done: info.Delivered.Stream})
	if err == nil {
		err = n.write(ctx, n.key("owner", "now"), note, 0)
	}
	if err == nil {
		err = c.JS.DeleteConsumer(ctx, bus.OutboundStream, account.consumer())
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return false, fmt.Errorf("remove consumer %s: %w", account.consumer(), err)
	}
	c.Log.Info().Str("channel", account.Channel).Str("instance", account.Instance).
		Msg("account: no host has it in its configuration any more; its consumer is removed")
	return true, nil
}
