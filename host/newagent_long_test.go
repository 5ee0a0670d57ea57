//go:build long

package host_test

import (
	"encoding/json"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/waittest"
)

// An agent that is new answers what comes from then on, whichever lane it falls on, and not
// what others have answered before it was there.
func TestNewAgentAnswersNothingOld(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		channel, before, after string
		second                 bool // the configuration is that of a host that joins
	}{
		"restart":                {channel: "demo", before: "demo", after: "demo"},
		"second host":            {channel: "demo", before: "demo", after: "demo", second: true},
		"every instance":         {channel: "demo.one", before: "demo.one", after: "demo.*"},
		"one of every instance":  {channel: "demo.one", before: "demo.*", after: "demo.one"},
		"second, every instance": {channel: "demo.one", before: "demo.one", after: "demo.*", second: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newChangedFleet(t)
			first, stop := f.start("blue", f.config(tt.before, "ana"))
			f.write(tt.channel, "old1", "old2")
			f.done("ana")
			f.want(first, "old1 reply: ana", "old2 reply: ana")
			cfg := f.config(tt.before, "ana")
			added := everyLane()
			cfg.Agents = append(cfg.Agents, f.config(tt.after, added...).Agents...)
			name := "blue"
			if tt.second {
				name = "green"
			} else {
				stop()
			}
			h, _ := f.start(name, cfg)
			stop() // it knows ana alone
			f.write(tt.channel, "new")
			all := append([]string{"ana"}, added...)
			f.done(all...)
			want := []string{"old1 reply: ana", "old2 reply: ana"}
			for _, agent := range all {
				want = append(want, "new reply: "+agent)
			}
			f.want(h, want...)
		})
	}
}

// Hosts that run write down again which agents take what, when the record is lost with its bucket or
// overwritten: an agent that is added later answers nothing old.
func TestNewAgentAfterTheRecordWasLost(t *testing.T) {
	t.Parallel()
	t.Run("bucket made again", func(t *testing.T) {
		t.Parallel()
		testNewAgentAfter(t, func(f *changedFleet) {
			if err := f.bus.JS.DeleteKeyValue(t.Context(), bus.LanesBucket); err != nil {
				t.Fatal(err)
			}
			bustest.Provision(t, f.bus.JS)
		})
	})
	t.Run("overwritten", func(t *testing.T) {
		t.Parallel()
		testNewAgentAfter(t, func(f *changedFleet) {
			kv, err := f.bus.JS.KeyValue(t.Context(), bus.LanesBucket)
			if err == nil {
				_, err = kv.PutString(t.Context(), "moves", "garbage")
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	})
}

func testNewAgentAfter(t *testing.T, lose func(*changedFleet)) {
	f := newChangedFleet(t)
	_, stop := f.start("blue", f.config("demo", "ana"))
	f.write("demo", "old")
	f.done("ana")
	lose(f)
	waittest.Until(t, "the record is back", func() bool {
		kv, err := f.bus.JS.KeyValue(t.Context(), bus.LanesBucket)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := kv.Get(t.Context(), "moves")
		return err == nil && json.Valid(entry.Value())
	})
	stop()
	all := append([]string{"ana"}, everyLane()...)
	h, _ := f.start("blue", f.config("demo", all...))
	f.write("demo", "new")
	f.done(all...)
	want := []string{"old reply: ana"}
	for _, agent := range all {
		want = append(want, "new reply: "+agent)
	}
	f.want(h, want...)
}
