package inmemory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/session"
	"agenthost/session/inmemory"
)

// Each step sleeps, then does calls (see perform), and says what has been
// dropped by then. The manager has a TTL of 30 m and runs from the start.
func TestTTL(t *testing.T) {
	const m, s = time.Minute, time.Second
	type step struct {
		sleep time.Duration
		do    string
		gone  []string
	}
	tests := map[string][]step{
		"idle":                      {{0, "a", nil}, {30*m - 1, "", nil}, {s + 2, "", []string{"a ttl"}}, {time.Hour, "", nil}},
		"idle longest first":        {{0, "a", nil}, {0, "b", nil}, {s, "c ?a", nil}, {time.Hour, "", []string{"b ttl", "c ttl", "a ttl"}}},
		"not before its time":       {{s / 2, "a", nil}, {30 * m, "", nil}, {s, "", []string{"a ttl"}}},
		"touched at the last":       {{0, "a b c", nil}, {30*m - 1, "a ?b", nil}, {2 * s, "", []string{"c ttl"}}, {30 * m, "", []string{"a ttl", "b ttl"}}},
		"in flight":                 {{0, "+a", nil}, {24 * time.Hour, "", nil}, {0, "-a", nil}, {30*m - 1, "", nil}, {2 * s, "", []string{"a ttl"}}},
		"in flight, at the last":    {{0, "a", nil}, {30*m - 1, "+a", nil}, {time.Hour, "-a", nil}, {time.Hour, "", []string{"a ttl"}}},
		"made again":                {{0, "a", nil}, {31 * m, "a", []string{"a ttl"}}, {31 * m, "", []string{"a ttl"}}},
		"deleted first, in flight":  {{0, "+a !a", nil}, {time.Hour, "", nil}, {0, "-a", []string{"a deleted"}}},
		"more than one at a moment": {{0, "a b", nil}, {10 * m, "c", nil}, {21 * m, "", []string{"a ttl", "b ttl"}}, {10 * m, "", []string{"c ttl"}}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gone drops
				mgr := inmemory.NewManager(inmemory.Options[int]{OnExpire: gone.add})
				start(t, mgr)
				synctest.Wait()
				for i, step := range steps {
					time.Sleep(step.sleep)
					synctest.Wait()
					perform(mgr, step.do)
					if diff := cmp.Diff(step.gone, gone.take()); diff != "" {
						t.Errorf("step %d (-want +got):\n%s", i, diff)
					}
				}
			})
		})
	}
}

func TestTTLCountsTimeBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone drops
		m := inmemory.NewManager(inmemory.Options[int]{TTL: time.Minute, OnExpire: gone.add})
		perform(m, "a b")
		time.Sleep(40 * time.Second)
		perform(m, "b c")
		time.Sleep(40 * time.Second)
		if got := gone.take(); got != nil {
			t.Errorf("dropped without Run: %v", got)
		}
		start(t, m)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a ttl"}, gone.take()); diff != "" {
			t.Errorf("as Run starts (-want +got):\n%s", diff)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"b ttl", "c ttl"}, gone.take()); diff != "" {
			t.Errorf("20 s later (-want +got):\n%s", diff)
		}
	})
}

// A sweep drops in batches; all that has expired goes at one time.
func TestSweepOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone drops
		m := inmemory.NewManager(inmemory.Options[int]{OnExpire: gone.add})
		start(t, m)
		for i := range 2500 {
			m.GetOrCreate(session.Key(rune(i)))
		}
		time.Sleep(inmemory.DefaultTTL + 2*time.Second)
		synctest.Wait()
		if got := len(gone.take()); got != 2500 || m.Len() != 0 {
			t.Errorf("got %d dropped and %d left, want 2500 and 0", got, m.Len())
		}
	})
}

// An OnExpire that hangs delays neither sweeps nor callers, only the end of Run.
func TestSlowOnExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone drops
		hang := make(chan struct{})
		m := inmemory.NewManager(inmemory.Options[int]{OnExpire: func(key session.Key, v int, reason inmemory.Reason) {
			if key == "slow" {
				<-hang
			}
			gone.add(key, v, reason)
		}})
		stop := start(t, m)
		m.GetOrCreate("slow")
		time.Sleep(time.Minute)
		m.GetOrCreate("a")
		time.Sleep(time.Hour)
		m.GetOrCreate("slow")
		if diff := cmp.Diff([]string{"a ttl"}, gone.take()); diff != "" {
			t.Errorf("beside it (-want +got):\n%s", diff)
		}
		time.AfterFunc(time.Hour, func() { close(hang) })
		stop()
		if diff := cmp.Diff(2, len(gone.take())); diff != "" {
			t.Errorf("Run has not waited (-want +got):\n%s", diff)
		}
	})
}

func TestRunWaitsForCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := false
		m := inmemory.NewManager(inmemory.Options[int]{OnExpire: func(session.Key, int, inmemory.Reason) {
			time.Sleep(time.Minute)
			told = true
		}})
		stop := start(t, m)
		m.GetOrCreate("a")
		go m.Delete("a")
		synctest.Wait()
		stop()
		if !told {
			t.Error("Run ended before the OnExpire of a Delete")
		}
	})
}

func TestShutdown(t *testing.T) {
	tests := map[string]struct {
		before, after string
		gone, later   []string
		left          []string
	}{
		"empty":                   {},
		"idle":                    {before: "b a ?b", gone: []string{"a shutdown", "b shutdown"}},
		"in flight too":           {before: "+a b", gone: []string{"b shutdown", "a shutdown"}},
		"deleted in flight":       {before: "+a !a", gone: []string{"a deleted"}},
		"then created":            {before: "a", after: "a ?a", gone: []string{"a shutdown"}, later: []string{"a shutdown"}},
		"then acquired":           {after: "+a ?a a", left: []string{"a"}},
		"then acquired, released": {after: "+a +a -a -a", later: []string{"a shutdown"}},
		"then acquired, deleted":  {after: "+a !a -a", later: []string{"a deleted"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gone drops
				m := inmemory.NewManager(inmemory.Options[int]{OnExpire: gone.add})
				stop := start(t, m)
				perform(m, tt.before)
				stop()
				if diff := cmp.Diff(tt.gone, gone.take()); diff != "" {
					t.Errorf("dropped (-want +got):\n%s", diff)
				}
				if m.Len() != 0 {
					t.Errorf("Len: got %d, want 0", m.Len())
				}
				perform(m, tt.after)
				if diff := cmp.Diff(tt.later, gone.take()); diff != "" {
					t.Errorf("dropped afterwards (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.left, keys(m)); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestReleaseAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone drops
		m := inmemory.NewManager(inmemory.Options[int]{OnExpire: gone.add})
		stop := start(t, m)
		old := m.Acquire("a")
		stop()
		again := m.Acquire("a")
		if again == old {
			t.Error("the dropped entry is back")
		}
		gone.take()
		old.Release()
		if got := gone.take(); got != nil {
			t.Errorf("dropped twice: %v", got)
		}
		again.Release()
		if diff := cmp.Diff([]string{"a shutdown"}, gone.take()); diff != "" {
			t.Errorf("dropped (-want +got):\n%s", diff)
		}
	})
}

func TestRunOfEndedContext(t *testing.T) {
	var gone drops
	m := inmemory.NewManager(inmemory.Options[int]{OnExpire: gone.add})
	m.GetOrCreate("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Run(ctx); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if diff := cmp.Diff([]string{"a shutdown"}, gone.take()); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func TestReasonString(t *testing.T) {
	for reason, want := range map[inmemory.Reason]string{
		inmemory.TTL: "ttl", inmemory.Cap: "cap", inmemory.Deleted: "deleted", inmemory.Shutdown: "shutdown", 9: "Reason(9)",
	} {
		if got := reason.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
