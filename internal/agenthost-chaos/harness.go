//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/agenthost-chaos/check"
	"agenthost/internal/agenthost-chaos/history"
	"agenthost/internal/agenthost-chaos/load"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A harness is one run of the program.
type harness struct {
	ctx     context.Context
	opt     *options
	fleet   *fleet
	nc, sys *nats.Conn
	js      jetstream.JetStream
	load    *load.Load
	model   *load.Model
	hook    load.Hook
	billing *load.Billing
	room    *load.Platform

	hostsHarmed, nodesHarmed quota
	steady                   sync.RWMutex // held while leaders should stay
	jumped                   sync.Mutex   // held while a clock is wrong

	mu    sync.Mutex
	harms []harm
	notes *os.File
}

func newHarness(ctx context.Context, o *options) (*harness, error) {
	h := &harness{ctx: ctx, opt: o}
	var err error
	if h.notes, err = os.Create(filepath.Join(o.dir, "faults.log")); err != nil {
		return nil, err
	}
	if h.model, err = load.ListenModel(); err != nil {
		return nil, err
	}
	if h.room, err = load.ListenPlatform(); err != nil {
		return nil, err
	}
	if h.fleet, err = newFleet(o, servers{h.model.URL, h.room.Address}); err != nil {
		return nil, err
	}
	if h.nc, err = dial(h.fleet.urls(), "people"); err != nil {
		return nil, err
	}
	if h.sys, err = dial(h.fleet.urls(), "operator", nats.UserInfo("sys", "sys")); err != nil {
		return nil, err
	}
	if h.js, err = jetstream.New(h.nc); err != nil {
		return nil, err
	}
	h.load, h.billing = load.New(h.js, h.room, o.rate), load.NewBilling(func() (*nats.Conn, error) { return dial(h.fleet.urls(), "bill") })
	return h, nil
}

// note writes a line to the log of the faults.
func (h *harness) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.notes, time.Now().UTC().Format("15:04:05.000 ")+format+"\n", args...)
}

func (h *harness) report(err error) {
	if err != nil {
		h.note("%v", err)
	}
}

func (h *harness) harmed(kind string, at time.Time) {
	h.note("%s from %s on", kind, at.UTC().Format("15:04:05.000"))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.harms = append(h.harms, harm{kind, at, time.Now()})
}

func (h *harness) harmedSoFar() []harm {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.harms)
}

// run breaks things for as long as it should, lets all settle, and checks.
func (h *harness) run(chosen []string) (violations []string, err error) {
	ctx, cancel := context.WithCancel(h.ctx)
	if chosen = h.fleet.mount(chosen); h.fleet.disk != nil {
		defer func() { h.report(h.fleet.disk.unmount()) }()
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer h.nc.Close()
	defer h.sys.Close()
	defer h.billing.Stop()
	defer cancel()
	talking := make(chan struct{})
	all.Go(func() { h.report(h.fleet.run(ctx)) })
	all.Go(func() { h.report(h.model.Run(ctx)) })
	all.Go(func() { h.report(h.room.Run(ctx)) })
	if err := h.await(ctx, 2*time.Minute, "the fleet", h.ready); err != nil {
		return nil, err
	}
	if err := errors.Join(h.billing.Start(), h.hook.Subscribe(h.nc)); err != nil {
		return nil, err
	}
	all.Go(func() { h.report(h.load.Run(ctx, talking, rand.New(rand.NewPCG(h.opt.seed, 1)))) })
	breaking, done := context.WithTimeout(ctx, h.opt.lasts)
	defer done()
	all.Go(func() { h.progress(ctx) })
	if len(chosen) > 0 {
		h.breakThings(breaking, rand.New(rand.NewPCG(h.opt.seed, 0)), chosen)
	} else {
		<-breaking.Done()
	}
	close(talking)
	fmt.Println("no more faults and no more messages; waiting until all has settled")
	begun := time.Now()
	settled := h.await(ctx, h.opt.settle, "everything to settle", h.settled)
	fmt.Printf("settled after %s\n", time.Since(begun).Round(time.Second))
	return h.conclude(ctx, settled)
}

// await waits until is holds.
func (h *harness) await(ctx context.Context, within time.Duration, what string, is func(context.Context) error) error {
	end := time.Now().Add(within)
	for {
		attempt, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := is(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return fmt.Errorf("waited %s for %s: %w", within, what, err)
		}
		<-time.After(500 * time.Millisecond)
	}
}

// ready is nil when every host is.
func (h *harness) ready(context.Context) error {
	for _, m := range h.fleet.hosts {
		if err := m.readyAfter(0); err != nil {
			return err
		}
	}
	return nil
}

// settled is nil when every message has its end, and the lanes have nothing more
// to bring, and no run is under way.
func (h *harness) settled(ctx context.Context) error {
	if open := h.load.Open(); len(open) > 0 {
		return fmt.Errorf("%d messages without an end, among them %q", len(open), open[:min(len(open), 5)])
	}
	for _, name := range []string{bus.InboundStream, bus.RoutesStream, bus.OutboundStream} {
		stream, err := h.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		list := stream.ListConsumers(ctx)
		for info := range list.Info() {
			if info.Config.AckPolicy == jetstream.AckNonePolicy {
				continue // who only reads; one that was killed leaves it behind
			}
			if info.NumPending > 0 || info.NumAckPending > 0 {
				return fmt.Errorf("%s of %s has %d messages to deliver and %d to be acknowledged", info.Name, name, info.NumPending, info.NumAckPending)
			}
		}
		if list.Err() != nil {
			return list.Err()
		}
	}
	return nil
}

// conclude stops the hosts in order, reads everything and prints what was found.
func (h *harness) conclude(ctx context.Context, settled error) (violations []string, err error) {
	var ends sync.WaitGroup
	for _, m := range h.fleet.hosts {
		ends.Go(func() { m.end(time.Minute) })
	}
	ends.Wait()
	facts := check.Facts{Inputs: h.load.Inputs(), Paid: h.model.Paid.Load(), Price: 100_000_000, Slow: load.SlowThinking, Spent: map[string]int64{}}
	if facts.Streams, err = check.Read(ctx, h.js); err != nil {
		return nil, errors.Join(settled, err)
	}
	days, err := agents.SpentSince(ctx, h.js, time.Now().Add(-24*time.Hour))
	if err != nil {
		return nil, errors.Join(settled, err)
	}
	for _, day := range days {
		facts.Spent[day.Agent] += day.Spent
	}
	facts.ByCall, facts.ByPurpose = h.billing.Effects.Counts()
	written, err := load.ReadNotes(h.fleet.notes)
	if err != nil {
		return nil, errors.Join(settled, err)
	}
	for purpose, n := range written {
		facts.ByPurpose[purpose] += n
	}
	facts.Delivered = h.room.Taken()
	found := check.Check(facts)
	if settled != nil {
		found.Violations = append([]string{settled.Error()}, found.Violations...)
	}
	appends := h.fleet.wire.Appends()
	register := history.Check(appends, commits(facts.Streams.Sessions))
	found.Violations = append(found.Violations, register.Violations...)
	if err := errors.Join(h.save(facts), saveAppends(filepath.Join(h.opt.dir, "appends.jsonl"), appends)); err != nil {
		return nil, err
	}
	h.table(facts, found, register)
	return found.Violations, nil
}

// commits are the messages of session logs, without snapshots.
func commits(msgs []check.Message) (list []history.Commit) {
	for _, msg := range msgs {
		if strings.HasPrefix(msg.Subject, history.SessionPrefix) {
			list = append(list, history.Commit{Subject: msg.Subject, ID: msg.Header.Get(history.CommitHeader), Seq: msg.Seq})
		}
	}
	return list
}

// saveAppends writes what hosts were seen to commit, a line each.
func saveAppends(file string, appends []history.Append) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	for _, a := range appends {
		if err := lines.Encode(a); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// save writes what was read beside the logs, for whoever looks for a cause.
func (h *harness) save(facts check.Facts) error {
	for name, msgs := range map[string][]check.Message{
		"sessions": facts.Streams.Sessions, "outbound": facts.Streams.Outbound, "dead": facts.Streams.Dead, "routes": facts.Streams.Routes,
		"events": facts.Streams.Events,
	} {
		f, err := os.Create(filepath.Join(h.opt.dir, name+".jsonl"))
		if err != nil {
			return err
		}
		for _, msg := range msgs {
			fmt.Fprintf(f, "%d %s %s %v %s\n", msg.Seq, msg.Time.UTC().Format("15:04:05.000"), msg.Subject, msg.Header, msg.Data)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	data, err := json.Marshal(facts.Inputs)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.opt.dir, "inputs.json"), data, 0o600)
}
