package heartbeat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An Entry is a schedule or a reminder, as the bucket AGENT_SCHEDULES keeps it
// under <agent>.<name>.
type Entry struct {
	Agent  string      `json:"agent"`
	Name   string      `json:"name"`
	Source string      `json:"source"` // FromConfig or FromReminder
	Spec   Spec        `json:"spec"`
	Prompt string      `json:"prompt"`           // reminder: what to remind of
	Origin *bus.Origin `json:"origin,omitempty"` // whom the reply is for
	Missed string      `json:"missed,omitempty"`
	By     string      `json:"by,omitempty"` // reminder: who asked for it
	MadeAt time.Time   `json:"made_at"`
	Next   time.Time   `json:"next"` // when it is due
}

// Where entries come from.
const (
	FromConfig   = "config"
	FromReminder = "reminder"
)

// Key is the entry's key in its bucket.
func (e Entry) Key() string { return e.Agent + "." + e.Name }

// Subject is where the server holds its next firing.
func (e Entry) Subject() string { return bus.SchedulePrefix + e.Key() }

// firingID names one firing: who hears it twice hears the same id.
func (e Entry) firingID() string {
	return "schedule:" + e.Name + "@" + e.Next.UTC().Format(time.RFC3339)
}

// text is what the agent is told.
func (e Entry) text() string {
	if e.Source != FromReminder {
		return e.Prompt
	}
	return fmt.Sprintf("A reminder that was asked for on %s is due. Remind of this now: %s", e.MadeAt.Format("2006-01-02 15:04 MST"), e.Prompt)
}

// route is what the agent is sent at the next firing.
func (e Entry) route() bus.Route {
	return bus.Route{
		ID: e.firingID(), Kind: bus.RouteSchedule, From: e.Name, Text: e.text(), Origin: e.Origin, Due: e.Next, Missed: e.Missed,
	}
}

// message is the next firing as the server is to hold it.
func (e Entry) message() (*nats.Msg, error) {
	msg, err := bus.NewMessage(e.Subject(), e.route())
	if err != nil {
		return nil, err
	}
	msg.Header.Set(jetstream.ScheduleHeader, "@at "+e.Next.UTC().Format(time.RFC3339))
	msg.Header.Set(jetstream.ScheduleTargetHeader, bus.DuePrefix+e.Agent)
	msg.Header.Set("Nats-TTL", "never") // it outlives the stream's age
	return msg, nil
}

// after moves the entry on to its first firing after t; ok is false when it
// does not fire again.
func (e Entry) after(t time.Time) (Entry, bool, error) {
	timer, err := e.Spec.Timer(e.Key())
	if err != nil {
		return e, false, fmt.Errorf("schedule %s of %s: %w", e.Name, e.Agent, err)
	}
	e.Next = timer.Next(t).UTC()
	return e, !e.Next.IsZero(), nil
}

// misdated reports whether the entry was put off beyond firings that are yet to come, as it is by a
// clock that is ahead. Clocks may differ by less than late.
func (e Entry) misdated(now time.Time) (bool, error) {
	if !e.Spec.repeats() || e.Next.Sub(now) < late {
		return false, nil
	}
	next, more, err := e.after(now.Add(late))
	return more && next.Next.Before(e.Next), err
}

// Entries lists what is scheduled, of all agents, what is due first in front.
func Entries(ctx context.Context, js jetstream.JetStream) ([]Entry, error) {
	kept, err := readEntries(ctx, js, ">")
	if err != nil {
		return nil, err
	}
	list := make([]Entry, 0, len(kept))
	for _, k := range kept {
		list = append(list, k.Entry)
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(a.Next.Compare(b.Next), strings.Compare(a.Key(), b.Key())) })
	return list, nil
}

// A kept entry is one with its revision in the bucket.
type kept struct {
	Entry
	revision uint64
}

// readEntries are those at keys that match filter.
func readEntries(ctx context.Context, js jetstream.JetStream, filter string) (map[string]kept, error) {
	list := map[string]kept{}
	for entry, err := range records.Entries(ctx, js, bus.SchedulesBucket, filter) {
		if err != nil {
			return nil, fmt.Errorf("list schedules: %w", err)
		}
		if k, err := decodeKept(entry.Revision(), entry.Value()); err == nil {
			list[entry.Key()] = k
		}
	}
	return list, nil
}

func decodeKept(revision uint64, data []byte) (kept, error) {
	k := kept{revision: revision}
	err := json.Unmarshal(data, &k.Entry)
	return k, err
}

// The reasons why nothing is cancelled.
var (
	ErrNoSchedule  = errors.New("there is no such schedule or reminder")
	ErrFromConfig  = errors.New("it stands in the configuration; take it out there")
	errNotYourChat = fmt.Errorf("%w in this conversation", ErrNoSchedule)
)

// Cancel forgets a reminder: it does not fire any more.
func Cancel(ctx context.Context, js jetstream.JetStream, agent, name string) error {
	return cancel(ctx, js, agent, name, func(e Entry) error {
		if e.Source == FromConfig {
			return ErrFromConfig
		}
		return nil
	})
}

func cancel(ctx context.Context, js jetstream.JetStream, agent, name string, may func(Entry) error) error {
	fail := func(err error) error { return fmt.Errorf("cancel %s of %s: %w", name, agent, err) }
	kv, err := js.KeyValue(ctx, bus.SchedulesBucket)
	if err != nil {
		return fail(err)
	}
	entry, err := records.NewReader(js).Entry(ctx, bus.SchedulesBucket, agent+"."+name)
	if errors.Is(err, records.ErrNotFound) {
		return fail(ErrNoSchedule)
	}
	if err != nil {
		return fail(err)
	}
	k, err := decodeKept(entry.Seq, entry.Data)
	if err == nil {
		err = may(k.Entry)
	}
	if err == nil {
		err = drop(ctx, js, kv, k.Entry)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// drop forgets the firing that the server holds of an entry, and the entry. As long as the entry is
// there, what fails can be repeated.
func drop(ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue, e Entry) error {
	stream, err := js.Stream(ctx, bus.SchedulesStream)
	if err != nil {
		return err
	}
	disarm := func() error { return stream.Purge(ctx, jetstream.WithPurgeSubject(e.Subject())) }
	if err := disarm(); err != nil {
		return err
	}
	if err := kv.Purge(ctx, e.Key()); err != nil {
		return err
	}
	return disarm() // a host may have armed it in between
}
