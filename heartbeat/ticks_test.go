package heartbeat_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/heartbeat"

	"github.com/nats-io/nats.go/jetstream"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func (w *world) beats(cfg heartbeat.Config) *heartbeat.Beats {
	return heartbeat.NewBeats(w.JS, []heartbeat.Target{{Agent: "ana", Config: cfg}}, w.Log)
}

// decide asks about a tick, n intervals after noon.
func decide(t *testing.T, b *heartbeat.Beats, n int, again, busy bool) (first, run bool) {
	t.Helper()
	first, run, err := b.Decide(t.Context(), "ana", noon.Add(time.Duration(n)*time.Second), again, busy)
	if err != nil {
		t.Fatal(err)
	}
	return first, run
}

func TestDecide(t *testing.T) {
	w := newWorld(t)
	one, other := w.beats(heartbeat.Config{Prompt: "look"}), w.beats(heartbeat.Config{Prompt: "look"})
	steps := []struct {
		name        string
		host        *heartbeat.Beats
		tick        int
		again, busy bool
		first, run  bool
	}{
		{"the first", one, 1, false, false, true, true},
		{"the same at another host", other, 1, false, false, false, false},
		{"the same after a takeover", other, 1, true, false, false, true},
		{"while its run goes on", one, 2, false, true, true, false},
		{"that one after a takeover", other, 2, true, false, false, false},
		{"the run's own, once more", other, 1, true, false, false, false}, // it is not the newest, but it ran
		{"the next", other, 3, false, false, true, true},
		{"an old one", one, 2, false, false, false, false},
	}
	steps[5].run = true
	for _, s := range steps {
		if first, run := decide(t, s.host, s.tick, s.again, s.busy); first != s.first || run != s.run {
			t.Errorf("%s: got first %v, run %v", s.name, first, run)
		}
	}
}

// 48 beats, and the model is called for the first and for the one after
// something came.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	b := w.beats(heartbeat.Config{Prompt: "look", Watch: []string{"plugin.inbound.mail", "agent.dead.>", "nobody.keeps.this"}})
	w.run(b.Run)
	for n := range 48 {
		if n == 30 {
			w.stored("plugin.inbound.mail", "a letter")
		}
		_, run := decide(t, b, n+1, false, n == 30) // busy at first: it is not forgotten
		if want := n == 0 || n == 31; run != want {
			t.Errorf("beat %d: run is %v", n, run)
		}
	}
	eventually(t, "48 beats, 2 calls", func() bool {
		c, _ := b.Count("ana")
		return c == heartbeat.Count{Beats: 48, Calls: 2}
	})
	again := w.beats(heartbeat.Config{Prompt: "look", Watch: []string{"plugin.inbound.mail"}})
	if _, run := decide(t, again, 100, false, false); run {
		t.Error("after a restart it has forgotten what it has seen")
	}
}

// Counts that an operator has deleted or overwritten start again at 0, and the heartbeats continue.
func TestDecideWhereTheCountIsDeleted(t *testing.T) {
	w := newWorld(t)
	b := w.beats(heartbeat.Config{Prompt: "look"})
	decide(t, b, 1, false, false)
	kv, err := w.JS.KeyValue(t.Context(), bus.HeartbeatsBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(t.Context(), "ana"); err != nil {
		t.Fatal(err)
	}
	if first, run := decide(t, b, 2, false, false); !first || !run {
		t.Errorf("got first %v, run %v", first, run)
	}
	if _, err := kv.PutString(t.Context(), "ana", "garbage"); err != nil {
		t.Fatal(err)
	}
	if first, run := decide(t, b, 3, false, false); !first || !run {
		t.Errorf("after garbage: got first %v, run %v", first, run)
	}
}

// What a heartbeat watches is seen also when it is kept by another stream than before, or by
// one that is made again.
func TestWatchOfAStreamThatIsReplaced(t *testing.T) {
	w := newWorld(t)
	b := w.beats(heartbeat.Config{Prompt: "look", Watch: []string{"orders.new"}})
	keep := func(name string) {
		t.Helper()
		if _, err := w.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{"orders.>"}}); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) {
		t.Helper()
		if err := w.JS.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	tick := func(what string, want bool) {
		t.Helper()
		n++
		if _, run := decide(t, b, n, false, false); run != want {
			t.Errorf("%s: run is %v", what, run)
		}
	}
	keep("ORDERS")
	w.stored("orders.new", "one")
	tick("the first", true)
	tick("nothing came", false)
	remove("ORDERS")
	tick("no stream keeps it", false)
	keep("SHOP")
	tick("nothing came to the other stream", false)
	w.stored("orders.new", "two")
	tick("something came to the other stream", true)
	tick("nothing came after that", false)
}

// A tick that a host has made with a clock that was ahead, by a day or by years, leaves out none of
// those that come once it is right.
func TestDecideAfterATickOfATimeToCome(t *testing.T) {
	w := newWorld(t)
	b := w.beats(heartbeat.Config{Prompt: "look"})
	now := time.Now()
	for _, s := range []struct {
		name       string
		due        time.Time
		again      bool
		first, run bool
	}{
		{"that of a wrong clock", now.AddDate(9, 0, 0), false, true, true},
		{"that one, again", now.AddDate(9, 0, 0), true, false, true},
		{"the next, by a clock that is right", now, false, true, true},
		{"that one, again", now, false, false, false},
		{"the one after it", now.Add(time.Second), false, true, true},
	} {
		first, run, err := b.Decide(t.Context(), "ana", s.due, s.again, false)
		if err != nil {
			t.Fatal(err)
		}
		if first != s.first || run != s.run {
			t.Errorf("%s: got first %v, run %v", s.name, first, run)
		}
	}
}
