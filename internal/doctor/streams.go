package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
)

const fullWarn, fullFail = 80, 95 // percent

// room reports how much of the storage of the account is taken, of each of its tiers where it has some.
func (o note) room(ctx context.Context, js jetstream.JetStream) {
	info, err := js.AccountInfo(ctx)
	if err != nil {
		return
	}
	if len(info.Tiers) == 0 {
		o.tier("", info.Tier)
	}
	for _, name := range slices.Sorted(maps.Keys(info.Tiers)) {
		o.tier(" of the tier "+name, info.Tiers[name])
	}
}

func (o note) tier(of string, t jetstream.Tier) {
	const cure = "give the account more storage: max_file in its jetstream block, or in its JWT"
	switch {
	case t.Limits.MaxStore < 0:
		return // what the disk of the server has left, it does not tell
	case t.Limits.MaxStore == 0:
		o.fail(cure, "its account has no storage%s", of)
		return
	}
	percent := t.Store * 100 / uint64(t.Limits.MaxStore)
	text := fmt.Sprintf("%d%% of the storage%s of its account is taken (%s of %s)", percent, of, size(t.Store), size(uint64(t.Limits.MaxStore)))
	switch {
	case percent >= fullFail:
		o.fail(cure, "%s", text)
	case percent >= fullWarn:
		o.warn(cure, "%s", text)
	default:
		o.ok("%s", text)
	}
}

func (d *Doctor) streams(ctx context.Context, n *notes, js jetstream.JetStream) {
	cfg := d.Config.NATS
	states, skew, known, err := streams.Survey(ctx, js, cfg.Replicas, cfg.Lanes)
	o := n.on("nats", "streams")
	if err != nil {
		o.fail("look at JetStream there, and at what this user may do", "%v", err)
		return
	}
	missing, taken := 0, uint64(0)
	n.each(states)
	for _, s := range states {
		taken += s.Bytes
		if s.Missing {
			missing++
		}
	}
	switch {
	case missing == len(states):
		o.ok("not made yet; the first host makes them")
	case missing > 0:
		o.warn("restart a host, which makes them", "%d of %d are missing", missing, len(states))
	default:
		o.ok("all %d are there, with %s", len(states), size(taken))
	}
	if known {
		n.on("nats", "clock").clock(skew)
	}
	d.lanes(ctx, n, js)
}

// lanes names the consumers that are paused, which nothing else shows.
func (d *Doctor) lanes(ctx context.Context, n *notes, js jetstream.JetStream) {
	paused, err := streams.PausedLanes(ctx, js)
	if err != nil {
		return // this user may not list consumers
	}
	for _, p := range paused {
		n.on("nats", p.Stream+" "+p.Name).fail(fmt.Sprintf("nats consumer resume %s %s", p.Stream, p.Name),
			"is paused for another %v: what comes for it waits", p.Left.Round(time.Second))
	}
}

// each says what is wrong with the streams. What several have, as where a server is down, is
// one finding that names them.
func (n *notes) each(states []streams.State) {
	type kind struct {
		verdict    Verdict
		text, cure string
	}
	var found notes
	names := make(map[kind][]string)
	for _, s := range states {
		from := len(found.list)
		found.on("nats", s.Name).stream(s)
		for _, f := range found.list[from:] {
			k := kind{f.Verdict, f.Text, f.Cure}
			names[k] = append(names[k], s.Name)
		}
	}
	for _, f := range found.list {
		k := kind{f.Verdict, f.Text, f.Cure}
		switch of := names[k]; {
		case len(of) == 0:
			continue // it is said
		case len(of) == len(states) && len(of) > 1:
			f.About, f.Text = fmt.Sprintf("all %d streams", len(of)), "each "+f.Text
		case len(of) > 1:
			f.About, f.Text = strings.Join(of, ", "), "each "+f.Text
		}
		delete(names, k)
		n.list = append(n.list, f)
	}
}

// stream says what is wrong with one, in words that follow its name.
func (o note) stream(s streams.State) {
	switch {
	case s.Missing:
		return
	case s.Fault != nil:
		o.fail("do what it says, or start the servers that are down", "%s", strings.TrimPrefix(s.Fault.Error(), "stream "+s.Name+" "))
	case s.Copies > 0 && s.Copies < s.Has:
		o.warn("start a server in the place of the one that was removed, under another name: the streams move there by themselves",
			"is kept by %d servers, and is to have %d replicas", s.Copies, s.Has)
	case s.Replicas < s.Has:
		o.warn("start the servers that are down, and let them catch up", "has %d of its %d replicas up to date", s.Replicas, s.Has)
	}
	if s.Lacks != "" {
		o.warn("restart a host, which sets it again; one that runs does so within a minute", "lacks what hosts need: %s", s.Lacks)
	}
	if s.Losing != "" {
		o.fail("change that back with the nats command", "deletes messages that hosts have not read, or still need: %s", s.Losing)
	}
	if s.Foreign != "" && s.Foreign != s.Losing {
		o.warn("if that is not intended, change it with the nats command", "has settings of its own, which stay: %s", s.Foreign)
	}
}

func (o note) clock(skew time.Duration) {
	const cure = "set both clocks by NTP"
	switch off := skew.Abs(); {
	case off >= skewFail:
		o.fail(cure, "the server's clock and this machine's differ by %v", off.Round(time.Second))
	case off >= skewWarn:
		o.warn(cure, "the server's clock and this machine's differ by %v", off.Round(100*time.Millisecond))
	default:
		o.ok("the server's agrees with this machine's")
	}
}

// size is a number of bytes for people.
func size(bytes uint64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	f, i := float64(bytes), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
