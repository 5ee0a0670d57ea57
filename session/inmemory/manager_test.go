package inmemory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/session"
	"agenthost/session/inmemory"
)

func TestGetOrCreate(t *testing.T) {
	made := 0
	m := inmemory.NewManager(inmemory.Options[int]{New: func(session.Key) int { made++; return made }})
	if e, ok := m.Get("a"); ok || e != nil {
		t.Errorf("Get before anything: got %v, %v, want nil, false", e, ok)
	}
	first, again := m.GetOrCreate("a"), m.GetOrCreate("a")
	got, ok := m.Get("a")
	if first != again || got != first || !ok || m.Acquire("a") != first {
		t.Error("one key has two entries")
	}
	if first.Key != "a" || first.Value != 1 || made != 1 {
		t.Errorf("got key %q, value %d, %d made, want a, 1, 1", first.Key, first.Value, made)
	}
}

func TestZeroOptions(t *testing.T) {
	m := inmemory.NewManager(inmemory.Options[*int]{})
	if e := m.GetOrCreate("a"); e.Value != nil {
		t.Errorf("value without New: got %v, want nil", e.Value)
	}
	if !m.Delete("a") {
		t.Error("Delete: got false, want true")
	}
	for i := range inmemory.DefaultMax + 5 {
		m.GetOrCreate(session.Key(rune(i)))
	}
	if got := m.Len(); got != inmemory.DefaultMax {
		t.Errorf("Len: got %d, want %d", got, inmemory.DefaultMax)
	}
}

// One letter is one session: a call to do, in order, and what is left.
func TestCap(t *testing.T) {
	tests := map[string]struct {
		max  int
		do   string // x: GetOrCreate, ?x: Get, +x: Acquire, -x: Release, !x: Delete
		left []string
		gone []string
	}{
		"the oldest goes":              {3, "a b c d", []string{"b", "c", "d"}, []string{"a cap"}},
		"a touch by get or create":     {3, "a b c a d", []string{"a", "c", "d"}, []string{"b cap"}},
		"a touch by get":               {3, "a b c ?a ?b d e", []string{"b", "d", "e"}, []string{"c cap", "a cap"}},
		"a touch of the newest":        {2, "a b b c", []string{"b", "c"}, []string{"a cap"}},
		"in flight stays":              {2, "+a b c d", []string{"a", "d"}, []string{"b cap", "c cap"}},
		"acquired twice, released one": {2, "+a +a -a b c", []string{"a", "c"}, []string{"b cap"}},
		"released counts as touched":   {2, "+a b -a c", []string{"a", "c"}, []string{"b cap"}},
		"all in flight: one too many":  {2, "+a +b +c", []string{"a", "b", "c"}, nil},
		"… also for an idle one":       {2, "+a +b c", []string{"a", "b", "c"}, nil},
		"… which goes first":           {2, "+a +b c d", []string{"a", "b", "d"}, []string{"c cap"}},
		"back to the cap by release":   {2, "+a +b +c -b", []string{"a", "c"}, []string{"b cap"}},
		"back by release, oldest goes": {2, "+a +b c -b", []string{"a", "b"}, []string{"c cap"}},
		"back to the cap by insert":    {2, "+a +b +c -b -c d", []string{"a", "d"}, []string{"b cap", "c cap"}},
		"no bound":                     {0, "a b c +d +e -e", []string{"a", "b", "c", "d", "e"}, nil},
		"deleted makes room":           {2, "a b !a c", []string{"b", "c"}, []string{"a deleted"}},
		"deleted in the middle":        {3, "a b c !b d e", []string{"c", "d", "e"}, []string{"b deleted", "a cap"}},
		"deleted in flight, released":  {2, "+a !a b -a c", []string{"b", "c"}, []string{"a deleted"}},
		"deleted and missed":           {2, "!a a !a !a", nil, []string{"a deleted"}},
		"deleted in flight over cap":   {1, "+a +b !a -a -b", []string{"b"}, []string{"a deleted"}},
		"deleted and made again":       {2, "a !a a", []string{"a"}, []string{"a deleted"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var gone drops
			m := inmemory.NewManager(inmemory.Options[int]{Max: &tt.max, OnExpire: gone.add})
			perform(m, tt.do)
			if diff := cmp.Diff(tt.left, keys(m)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.gone, gone.take()); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if m.Len() != len(tt.left) {
				t.Errorf("Len: got %d, want %d", m.Len(), len(tt.left))
			}
		})
	}
}

func TestDeleteInFlight(t *testing.T) {
	var gone drops
	m := inmemory.NewManager(inmemory.Options[int]{OnExpire: gone.add})
	e := m.Acquire("a")
	first, second := m.Delete("a"), m.Delete("a")
	if !first || !second {
		t.Error("Delete in flight: got false, want true")
	}
	if m.Acquire("a") != e || m.GetOrCreate("a") != e || m.InFlight() != 1 {
		t.Error("a session deleted in flight has a second entry")
	}
	e.Release()
	if got := gone.take(); got != nil {
		t.Errorf("dropped in flight: %v", got)
	}
	e.Release()
	if diff := cmp.Diff([]string{"a deleted"}, gone.take()); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if m.Delete("a") || m.Len() != 0 || m.InFlight() != 0 {
		t.Error("the last Release has not dropped it")
	}
	if m.GetOrCreate("a") == e {
		t.Error("the dropped entry is back")
	}
}

func TestInFlight(t *testing.T) {
	m := inmemory.NewManager(inmemory.Options[int]{})
	m.GetOrCreate("idle")
	perform(m, "+a +a +b")
	if got := m.InFlight(); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
	perform(m, "-a")
	if got := m.InFlight(); got != 2 {
		t.Errorf("after one of two: got %d, want 2", got)
	}
	perform(m, "-a -b")
	if got := m.InFlight(); got != 0 {
		t.Errorf("after all: got %d, want 0", got)
	}
}

func TestReleaseTooOften(t *testing.T) {
	m := inmemory.NewManager(inmemory.Options[int]{})
	e := m.Acquire("a")
	e.Release()
	func() {
		defer func() {
			if got, want := recover(), "session: Release without Acquire of a"; got != want {
				t.Errorf("panic: got %v, want %v", got, want)
			}
		}()
		e.Release()
	}()
	if m.Acquire("a") != e { // the lock is free and the entry whole
		t.Error("the entry is gone")
	}
}

func TestAllStops(t *testing.T) {
	m := inmemory.NewManager(inmemory.Options[int]{})
	perform(m, "a b c")
	listed := 0
	for range m.All() {
		listed++
		break
	}
	if listed != 1 {
		t.Errorf("listed: got %d, want 1", listed)
	}
}

func TestOnExpireMayCallBack(t *testing.T) {
	var m *inmemory.Manager[int]
	var told []session.Key
	m = inmemory.NewManager(inmemory.Options[int]{Max: new(1), OnExpire: func(key session.Key, _ int, _ inmemory.Reason) {
		told = append(told, key)
		if _, ok := m.Get(key); ok {
			t.Errorf("%s is still there in its OnExpire", key)
		}
		if key == "a" {
			m.GetOrCreate("c") // drops b
		}
	}})
	perform(m, "a b")
	if diff := cmp.Diff([]session.Key{"a", "b"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestHitsDoNotAllocate(t *testing.T) {
	m := inmemory.NewManager(inmemory.Options[int]{})
	start(t, m)
	perform(m, "a b")
	hits := map[string]func(){
		"GetOrCreate":     func() { m.GetOrCreate("a") },
		"Get":             func() { m.Get("b") },
		"Acquire/Release": func() { m.Acquire("a").Release() },
	}
	for name, hit := range hits {
		if got := testing.AllocsPerRun(100, hit); got != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
}
