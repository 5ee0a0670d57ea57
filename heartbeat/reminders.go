package heartbeat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/texts"

	"github.com/nats-io/nats.go/jetstream"
)

// ReminderPrefix begins the names of reminders.
const ReminderPrefix = "remind-"

// What bounds the reminders of an agent.
const (
	MaxReminders      = 1000
	ShortestReminders = time.Minute // between two firings of one
)

// Reminders makes, lists and cancels reminders for people and agents.
type Reminders struct {
	JS jetstream.JetStream
	// Zones are the zones of agents that have one; the others live in UTC.
	Zones map[string]string
}

// A Reminder is a request to be reminded of something.
type Reminder struct {
	ID   string // names the request: the same one again makes no other reminder
	Chat bus.Origin
	By   string
	When string // see ParseWhen
	Zone string // empty: that of the agent
	Text string
}

// Make makes a reminder.
func (r *Reminders) Make(ctx context.Context, m Reminder) (Entry, error) {
	c := clock{js: r.JS}
	now, err := c.now(ctx)
	if err != nil {
		return Entry{}, fmt.Errorf("make a reminder: %w", err)
	}
	e, err := r.entry(m, now)
	if err != nil {
		return Entry{}, err
	}
	kv, err := r.JS.KeyValue(ctx, bus.SchedulesBucket)
	if err != nil {
		return Entry{}, fmt.Errorf("make a reminder: %w", err)
	}
	all, err := readEntries(ctx, r.JS, e.Agent+".*")
	if err != nil {
		return Entry{}, fmt.Errorf("make a reminder: %w", err)
	}
	if made, again := all[e.Key()]; again {
		return made.Entry, nil
	}
	if n := count(all); n >= MaxReminders {
		return Entry{}, &fault{"remind_too_many", []string{"n", strconv.Itoa(n)}}
	}
	if err := putEntry(ctx, kv, e, 0); err != nil && !records.Overtaken(err) {
		return Entry{}, fmt.Errorf("make a reminder: %w", err)
	}
	return e, nil
}

func count(all map[string]kept) int {
	n := 0
	for _, k := range all {
		if k.Source == FromReminder {
			n++
		}
	}
	return n
}

func (r *Reminders) entry(m Reminder, now time.Time) (Entry, error) {
	text := strings.TrimSpace(clean(m.Text))
	if text == "" {
		return Entry{}, &fault{key: "remind_no_text"}
	}
	if m.Chat.Subject == "" {
		return Entry{}, errors.New("a reminder needs a chat to come to, and this run has none")
	}
	zone, err := Zone(cmp.Or(m.Zone, r.Zones[m.Chat.Agent]))
	if err != nil {
		return Entry{}, err
	}
	spec, rest, err := ParseWhen(m.When, now, zone)
	if err == nil && rest != "" {
		err = errWhen
	}
	if err != nil {
		return Entry{}, fmt.Errorf("when is %q: %w", m.When, err)
	}
	if spec.At != "" {
		spec.Timezone = zone.String()
	}
	m.Chat.ReplyTo = ""
	e := Entry{
		Agent: m.Chat.Agent, Name: reminderName(m), Source: FromReminder, Spec: spec,
		Prompt: text,
		Origin: &m.Chat, By: m.By, MadeAt: now.UTC(),
	}
	next, more, err := e.after(now)
	switch {
	case err != nil:
		return Entry{}, err
	case !more:
		return Entry{}, &fault{"remind_past", []string{"when", m.When}}
	}
	if spec.repeats() {
		second, _, _ := next.after(next.Next) // it has compiled before
		if second.Next.Sub(next.Next) < ShortestReminders {
			return Entry{}, &fault{"remind_too_often", []string{"when", m.When, "span", shortSpan(ShortestReminders)}}
		}
	}
	return next, nil
}

func reminderName(m Reminder) string {
	sum := sha256.Sum256([]byte(m.Chat.Agent + "\x00" + m.Chat.Session + "\x00" + m.ID))
	return ReminderPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:10])
}

// List lists the reminders of a chat, what is due first in front.
func (r *Reminders) List(ctx context.Context, chat bus.Origin) ([]Entry, error) {
	all, err := readEntries(ctx, r.JS, chat.Agent+".*")
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, k := range all {
		if mine(k.Entry, chat) {
			list = append(list, k.Entry)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(a.Next.Compare(b.Next), strings.Compare(a.Name, b.Name)) })
	return list, nil
}

// mine reports whether e is a reminder that was made in a chat.
func mine(e Entry, chat bus.Origin) bool {
	return e.Source == FromReminder && e.Origin != nil && e.Origin.Session == chat.Session
}

// Cancel cancels a reminder that was made in the chat.
func (r *Reminders) Cancel(ctx context.Context, chat bus.Origin, name string) error {
	if !strings.HasPrefix(name, ReminderPrefix) {
		name = ReminderPrefix + name
	}
	return cancel(ctx, r.JS, chat.Agent, name, func(e Entry) error {
		if !mine(e, chat) {
			return errNotYourChat
		}
		return nil
	})
}

// Command is the chat command /remind: what follows the word, and what to
// answer, in the words of book.
//
//	/remind in 20m call Ana
//	/remind list
//	/remind cancel ID
func (r *Reminders) Command(ctx context.Context, book texts.Book, id, by string, chat bus.Origin, text string) string {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return book.Say("remind_usage")
	case len(words) == 1 && strings.EqualFold(words[0], "list"):
		list, err := r.List(ctx, chat)
		if err != nil {
			return book.Say("remind_unreadable", "reason", err.Error())
		}
		return r.Tell(book, list)
	case len(words) == 2 && strings.EqualFold(words[0], "cancel"):
		if err := r.Cancel(ctx, chat, words[1]); err != nil {
			return book.Say("remind_not_cancelled", "reason", reason(book, err))
		}
		return book.Say("remind_cancelled")
	}
	zone, err := Zone(r.Zones[chat.Agent])
	if err != nil {
		return book.Say("remind_not_noted", "reason", reason(book, err))
	}
	_, what, err := ParseWhen(text, time.Now(), zone)
	if err != nil {
		return book.Say("remind_not_noted", "reason", reason(book, err))
	}
	when := strings.Join(words[:len(words)-len(strings.Fields(what))], " ")
	e, err := r.Make(ctx, Reminder{ID: id, Chat: chat, By: by, When: when, Text: what})
	if err != nil {
		return book.Say("remind_not_noted", "reason", reason(book, err))
	}
	return book.Say("remind_noted", "when", r.Told(book, e))
}

// Tell words a list of reminders.
func (r *Reminders) Tell(book texts.Book, list []Entry) string {
	if len(list) == 0 {
		return book.Say("remind_none")
	}
	var b strings.Builder
	for i, e := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s", r.Told(book, e), e.Prompt)
	}
	return b.String()
}

// Told is when a reminder is due, and its id.
func (r *Reminders) Told(book texts.Book, e Entry) string {
	zone, err := Zone(cmp.Or(e.Spec.Timezone, r.Zones[e.Agent]))
	if err != nil {
		zone = time.UTC
	}
	text := e.Next.In(zone).Format("2006-01-02 15:04 MST")
	if e.Spec.repeats() {
		text = book.Say("remind_repeats", "when", text, "spec", e.Spec.String())
	}
	return text + " (" + strings.TrimPrefix(e.Name, ReminderPrefix) + ")"
}
