//go:build long

package records_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/streams"
)

// What a copy of a stream lacks is read all the same, and what it still has
// though it was deleted is not.
func TestLaggingCopyIsNotBelieved(t *testing.T) {
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), b.JS, 3, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	r := records.NewReader(b.JS)
	const old, x, y = "agent.session.ana.old", "agent.session.ana.x", "agent.session.ana.y"
	bustest.Publish(t, b.JS, old, "gone")
	bustest.Publish(t, b.JS, x, numbers(1, 3)...)
	lanes, err := b.JS.KeyValue(t.Context(), bus.LanesBucket)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key, value string) {
		t.Helper()
		if _, err := lanes.PutString(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("changed", "before")
	put("deleted", "before")
	began := time.Now()
	catchUp := c.Lag(bus.SessionsStream, bus.OutboundStream, "KV_"+bus.LanesBucket)
	defer catchUp()
	bustest.Publish(t, b.JS, x, numbers(4, 6)...)
	bustest.Publish(t, b.JS, y, "new")
	put("changed", "after")
	put("new.er", "after")
	if err := lanes.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	stream, err := b.JS.Stream(t.Context(), bus.SessionsStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject(old)); err != nil {
		t.Fatal(err)
	}
	bustest.Publish(t, b.JS, old, "begun again")
	if _, err := b.JS.PublishMsg(t.Context(), message("plugin.outbound.web", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.GetMsg(t.Context(), 5); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Fatalf("a direct get: got %v, want %v of the copy that lags", err, jetstream.ErrMsgNotFound)
	}

	record := func(t *testing.T, name string, rec records.Record, err error, want string) {
		t.Helper()
		if err != nil || string(rec.Data) != want {
			t.Errorf("%s: got %q, %v, want %q", name, rec.Data, err, want)
		}
	}
	rec, err := r.Last(t.Context(), bus.SessionsStream, x)
	record(t, "Last", rec, err, "6")
	rec, err = r.Get(t.Context(), bus.SessionsStream, 5)
	record(t, "Get", rec, err, "4")
	rec, err = r.Next(t.Context(), bus.SessionsStream, y, 1)
	record(t, "Next", rec, err, "new")
	rec, err = r.Next(t.Context(), bus.SessionsStream, old, 1)
	record(t, "Next of what was deleted and begun again", rec, err, "begun again")
	for _, key := range []string{"changed", "new.er"} {
		rec, err = r.Entry(t.Context(), bus.LanesBucket, key)
		record(t, "Entry "+key, rec, err, "after")
	}
	if rec, err := r.Entry(t.Context(), bus.LanesBucket, "deleted"); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Entry of what was deleted: got %q, %v, want %v", rec.Data, err, records.ErrNotFound)
	}
	for name, tt := range map[string]struct {
		subject string
		from    uint64
		want    []string
	}{
		"from the beginning":     {x, 0, numbers(1, 6)},
		"from where it lags":     {x, 4, numbers(3, 6)},
		"of what it lacks":       {y, 0, []string{"new"}},
		"deleted, begun again":   {old, 0, []string{"begun again"}},
		"of all":                 {"agent.session.>", 0, []string{"1", "2", "3", "4", "5", "6", "new", "begun again"}},
		"of what was never said": {"agent.session.ana.z", 0, nil},
	} {
		if diff := cmp.Diff(tt.want, payloads(t, r.Tail(t.Context(), bus.SessionsStream, tt.subject, tt.from))); diff != "" {
			t.Errorf("Tail %s: %s", name, diff)
		}
	}
	n := 0
	for range r.Tail(t.Context(), bus.SessionsStream, x, 0) {
		if n++; n == 2 {
			break
		}
	}
	if _, err := r.Last(t.Context(), bus.SessionsStream, "agent.session.ana.z"); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Last of what was never said: got %v, want %v", err, records.ErrNotFound)
	}
	left, err := r.NotStored(t.Context(), records.Search{Subject: "plugin.outbound.web", Since: began, Until: began, Most: 1000}, []string{"1", "2"})
	if want := map[string]bool{"2": true}; err != nil || !cmp.Equal(left, want) {
		t.Errorf("NotStored: got %v, %v, want %v", left, err, want)
	}
}

// A list is read right after its consumer was made, which may be on a server whose
// subscription has not reached this one yet.
func TestHeadsOnACluster(t *testing.T) {
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		bustest.Publish(t, b.JS, fmt.Sprint("s.", i), "x")
	}
	for range 300 {
		n := 0
		if err := records.Heads(t.Context(), b.JS, "S", "s.*", true, func(records.Record) { n++ }); err != nil || n != 10 {
			t.Fatalf("got %d, %v, want 10", n, err)
		}
	}
}
