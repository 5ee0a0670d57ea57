// Package pause keeps which agents and channels an operator has paused: nothing new
// starts for them, on any host, and all that comes is kept. Runs under way go on.
package pause

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// Keys are those of pauses in bus.LanesBucket.
const Keys = keyPrefix + ">"

const keyPrefix = "pause."

// A Target is what is paused: an agent, a channel with all its instances, one of them
// (telegram.sales), or all.
type Target struct {
	Agent   string `json:"agent,omitempty"`
	Channel string `json:"channel,omitempty"`
	All     bool   `json:"all,omitempty" doc:"all agents, in place of one or of a channel"`
}

// String names it for people.
func (t Target) String() string {
	switch {
	case t.Agent != "":
		return "agent " + t.Agent
	case t.Channel != "":
		return "channel " + t.Channel
	}
	return "all agents"
}

// Argument names it to the commands pause and resume.
func (t Target) Argument() string {
	switch {
	case t.All:
		return "--all"
	case t.Channel != "":
		return "--channel " + t.Channel
	}
	return t.Agent
}

// Holds reports whether what comes to an agent by a channel, such as telegram.sales or none, is to
// wait. An agent that is not known is empty.
func (t Target) Holds(agent, channel string) bool {
	name, _, _ := strings.Cut(channel, ".")
	return t.All || t.Agent != "" && t.Agent == agent || t.Channel != "" && (t.Channel == channel || t.Channel == name)
}

func (t Target) key() string {
	switch {
	case t.Agent != "":
		return keyPrefix + "agent." + t.Agent
	case t.Channel != "":
		return keyPrefix + "channel." + t.Channel
	}
	return keyPrefix + "all"
}

var isToken = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// ErrNoTarget is wrapped where what is named can be no target.
var ErrNoTarget = errors.New("nothing to pause")

// check refuses what can name nothing.
func (t Target) check() error {
	channel, instance, more := strings.Cut(t.Channel, ".")
	named := 0
	for _, is := range []bool{t.Agent != "", t.Channel != "", t.All} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return fmt.Errorf("%w: want one of agent, channel and all", ErrNoTarget)
	case t.Agent != "" && !isToken.MatchString(t.Agent):
		return fmt.Errorf("%w: agent %q: want an id such as ana", ErrNoTarget, t.Agent)
	case t.Channel != "" && (!isToken.MatchString(channel) || more && !isToken.MatchString(instance)):
		return fmt.Errorf("%w: channel %q: want a name such as telegram, or telegram.sales", ErrNoTarget, t.Channel)
	}
	return nil
}

// A Pause is one that holds.
type Pause struct {
	Target
	Since  time.Time `json:"since"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Words say who has paused it, since when and why.
func (p Pause) Words() string {
	text := "since " + p.Since.Format(time.RFC3339)
	if p.By != "" {
		text = "by " + p.By + " " + text
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// A Store keeps pauses. No host needs to run.
type Store struct{ js jetstream.JetStream }

// NewStore makes a Store.
func NewStore(js jetstream.JetStream) *Store { return &Store{js} }

// Begin pauses. That it is paused already changes by whom and why, not since when.
func (s *Store) Begin(ctx context.Context, p Pause) (Pause, error) {
	if err := p.check(); err != nil {
		return p, err
	}
	kv, err := s.js.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return p, err
	}
	p.Since = time.Now().UTC()
	if rec, err := records.NewReader(s.js).Entry(ctx, bus.LanesBucket, p.key()); err == nil {
		if before, ok := read(p.key(), rec.Data); ok {
			p.Since = before.Since
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	_, err = kv.Put(ctx, p.key(), data)
	return p, err
}

// ErrNotPaused is the error of what is not paused.
var ErrNotPaused = errors.New("not paused")

// End ends the pause of a target.
func (s *Store) End(ctx context.Context, t Target) error {
	if err := t.check(); err != nil {
		return err
	}
	kv, err := s.js.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return err
	}
	switch _, err := records.NewReader(s.js).Entry(ctx, bus.LanesBucket, t.key()); {
	case errors.Is(err, records.ErrNotFound):
		return fmt.Errorf("%s: %w", t, ErrNotPaused)
	case err != nil:
		return err
	}
	return kv.Delete(ctx, t.key())
}

// List are all that hold, the oldest first. It reads each by a direct get, which NATS can
// allow for pauses alone: the bucket has the key of the fleet too. A copy of the bucket that
// lags behind may answer.
func (s *Store) List(ctx context.Context) ([]Pause, error) {
	list := []Pause{}
	keys, direct, err := s.keys(ctx)
	if err != nil {
		return list, err
	}
	entry := records.NewReader(s.js).EntryFromAny
	if !direct {
		entry = records.NewReader(s.js).Entry
	}
	found := make([]*Pause, len(keys))
	ask := make([]func() error, len(keys))
	for i, key := range keys {
		ask[i] = func() error {
			rec, err := entry(ctx, bus.LanesBucket, key)
			if errors.Is(err, records.ErrNotFound) {
				return nil
			}
			if p, ok := read(key, rec.Data); ok && err == nil {
				found[i] = &p
			}
			return err
		}
	}
	if err := bus.AtOnce(ask); err != nil {
		return list, err
	}
	for _, p := range found {
		if p != nil {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b Pause) int { return a.Since.Compare(b.Since) })
	return list, nil
}

// keys are those of all pauses, also of those that have ended; direct says that the bucket
// answers direct gets.
func (s *Store) keys(ctx context.Context) (keys []string, direct bool, err error) {
	stream, err := s.js.Stream(ctx, "KV_"+bus.LanesBucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, false, jetstream.ErrBucketNotFound
	}
	if err != nil {
		return nil, false, err
	}
	const bucket = "$KV." + bus.LanesBucket + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(bucket+Keys))
	if err != nil {
		return nil, false, err
	}
	for subject := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subject, bucket))
	}
	return keys, info.Config.AllowDirect, nil
}

func read(key string, data []byte) (p Pause, ok bool) {
	if json.Unmarshal(data, &p) != nil {
		return p, false
	}
	p.All = key == Target{All: true}.key() // older versions have not written it
	return p, p.key() == key
}
