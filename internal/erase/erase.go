// Package erase deletes what a fleet keeps of a person: everywhere where they may be, with
// what is only theirs deleted and what is others' as well without them.
package erase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/internal/erasure"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// Options are what to erase.
type Options struct {
	Person erasure.Person
	Agent  string // limits it to one; empty: all
	DryRun bool   // only look
}

// A Fleet is what an erasure needs of the hosts, if there are any.
type Fleet interface {
	// Runs reports whether a host runs.
	Runs(ctx context.Context) (bool, error)
	// Erase has all hosts drop what they hold of a person in memory, and returns those that do
	// not answer. erased is false when some of it is still at work.
	Erase(ctx context.Context, o erasure.Order) (silent []string, erased bool, err error)
	// Stop stops the run of a session. ErrUnserved says that no host serves the agent.
	Stop(ctx context.Context, agent string, key session.Key) error
	// Dropped has all hosts forget a session that was changed.
	Dropped(ctx context.Context, d session.Deletion) error
}

// The kinds of what is removed.
const (
	Sessions  = "sessions"
	Snapshots = "snapshots"
	Groups    = "group_sessions" // from which the person was taken out
	Notes     = "notes"
	Files     = "files"
	Dead      = "dead_letters"
	Inbound   = "inbound"
	Outbound  = "outbound"
	Routes    = "routes"
	Schedules = "schedules"
	Approvals = "approvals"
	Pairings  = "pairings"
	Requests  = "requests" // of OpenAI clients
	Budgets   = "budgets"  // what was spent for them, by day
	Events    = "events"
	Audit     = "audit" // entries that were written again without the person
	Channels  = "channel_state"
	Pauses    = "pauses" // whose reasons had words of the person
)

// Kinds are all kinds, in the order in which they are shown.
func Kinds() []string {
	return []string{Sessions, Snapshots, Groups, Notes, Files, Dead, Inbound, Outbound, Routes, Schedules, Approvals, Pairings, Requests, Budgets, Events, Audit, Channels, Pauses}
}

// A Report is what was removed, or would be.
type Report struct {
	Peer   string         `json:"peer"`
	Agent  string         `json:"agent,omitempty"`
	Found  []string       `json:"found"` // accounts, such as telegram.sales/42
	DryRun bool           `json:"dry_run,omitempty"`
	Kept   []string       `json:"kept,omitempty"` // what stays, and why
	Counts map[string]int `json:"removed"`
}

// Total is how many things were removed.
func (r Report) Total() (n int) {
	for _, one := range r.Counts {
		n += one
	}
	return n
}

// ErrBusy means that something of the person is still there, as it came or was at work
// while it was erased.
var ErrBusy = errors.New("not all is erased: some of it came, or was at work, meanwhile; run it again")

// ErrUnserved is returned by a Fleet for an agent that no host serves.
var ErrUnserved = errors.New("no host serves the agent")

// What bounds an erasure.
const (
	passes      = 40
	pauseWithin = 250 * time.Millisecond // between two passes, for what is on its way
	stopWithin  = 15 * time.Second       // what a run may take to stop
)

// An eraser is one erasure.
type eraser struct {
	js      jetstream.JetStream
	reader  *records.Reader
	archive *session.Archive
	store   *filestore.Store
	fleet   Fleet
	opt     Options

	r          *redactor
	names      map[string]bool
	places     map[string]bool
	said       map[message]bus.Inbound
	notes      map[string]bool        // <agent>.<id> of notes that came of their runs in sessions of others
	takes      map[session.Key]bool   // sessions in which the person takes part, which are not theirs alone
	others     map[string]session.Key // accounts that have written in sessions of the person
	objects    map[string]bool        // that the person's things name
	markers    map[string][]string    // keys of buckets that were purged
	journal    journal
	configured map[string]bool // keys of schedules that stand in the configuration
	reminders  map[string]bool // keys of reminders of others
	hosts      bool

	counts map[string]int
	kept   map[string]bool
	busy   int // things of others that have to be dealt with first
}

// Run erases a person, pass by pass until one finds nothing. It can be cut off at any time;
// the next one goes on.
func Run(ctx context.Context, js jetstream.JetStream, fleet Fleet, opt Options) (Report, error) {
	e := &eraser{
		js: js, reader: records.NewReader(js), archive: session.NewArchive(js), store: filestore.New(js), fleet: fleet, opt: opt,
		r:     &redactor{person: opt.Person, keys: map[session.Key]bool{}, ids: map[string]bool{}, tasks: map[string]bool{}, chats: map[string]bool{}},
		names: map[string]bool{}, places: map[string]bool{}, said: map[message]bus.Inbound{}, notes: map[string]bool{}, others: map[string]session.Key{}, takes: map[session.Key]bool{}, objects: map[string]bool{},
		markers: map[string][]string{}, counts: map[string]int{}, kept: map[string]bool{},
	}
	err := e.run(ctx)
	report := Report{
		Peer: opt.Person.String(), Agent: opt.Agent, DryRun: opt.DryRun, Counts: e.counts,
		Found: []string{}, Kept: slices.Sorted(maps.Keys(e.kept)),
	}
	for place := range e.places {
		report.Found = append(report.Found, place+"/"+opt.Person.From)
	}
	slices.Sort(report.Found)
	if err != nil {
		err = fmt.Errorf("erase: %w", err)
	}
	return report, err
}

func (e *eraser) run(ctx context.Context) error {
	if _, err := e.js.Stream(ctx, bus.SessionsStream); err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("no stream %s: no host has run on this NATS yet", bus.SessionsStream)
		}
		return err
	}
	var err error
	if e.hosts, err = e.fleet.Runs(ctx); err != nil {
		return err
	}
	e.r.names.addName(e.opt.Person.From)
	if err := e.readJournals(ctx); err != nil {
		return err
	}
	for n := range passes {
		before := total(e.counts)
		e.busy = 0
		clear(e.kept)
		silent, err := e.forget(ctx)
		if err != nil {
			return err
		}
		if err := e.pass(ctx); err != nil {
			return err
		}
		if e.opt.DryRun {
			return nil
		}
		if total(e.counts) == before && e.busy == 0 && (n > 0 || before == 0) {
			if silent { // what it has may be stored again
				return ErrBusy
			}
			return e.finish(ctx)
		}
		if !e.hosts && total(e.counts) == before { // nothing will change
			break
		}
		if err := e.pause(ctx); err != nil {
			return err
		}
	}
	return ErrBusy
}

func total(counts map[string]int) (n int) {
	for _, one := range counts {
		n += one
	}
	return n
}

// pause lets what is on its way arrive.
func (e *eraser) pause(ctx context.Context) error {
	if !e.hosts {
		return ctx.Err()
	}
	select {
	case <-time.After(pauseWithin):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass looks once everywhere, and erases what it finds.
func (e *eraser) pass(ctx context.Context) error {
	all, err := e.findSessions(ctx)
	if err != nil {
		return err
	}
	for _, look := range []func(context.Context) error{e.findInbound, e.findRoutes, e.findNotes, e.findShared} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	if err := e.findMentions(ctx, all); err != nil {
		return err
	}
	if err := e.nameObjects(ctx, all); err != nil {
		return err
	}
	if err := e.writeJournal(ctx); err != nil {
		return err
	}
	for _, do := range []func(context.Context) error{
		e.inbound, e.schedules, e.approvals,
		func(ctx context.Context) error { return e.sessions(ctx, all) },
		e.outbound, e.routes, e.events, e.deadLetters, e.buckets, e.pauses, e.audit, e.files, e.nameShared,
	} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// add counts something that was removed.
func (e *eraser) add(kind string, n int) {
	if n > 0 {
		e.counts[kind] += n
	}
}

// finish deletes what was needed to be cut off at any time.
func (e *eraser) finish(ctx context.Context) error {
	if err := e.deleteMarkers(ctx); err != nil {
		return err
	}
	if err := e.deleteJournals(ctx); err != nil {
		return err
	}
	return e.rewrite(ctx) // last: a quota of NATS may have no room for it
}
