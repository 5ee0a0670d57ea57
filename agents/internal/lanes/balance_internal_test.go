package lanes

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func other(host string, asks []int, serves ...int) peer {
	return peer{Host: host, ID: host, Weight: 1, Lanes: []int{0, 1, 2, 3}, Asks: asks, Serves: serves}
}

func TestBalance(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2, 3}
	self := func(serves ...int) peer { return other("a", all, serves...) }
	ready := func(host string, lanes ...int) peer {
		p := other(host, nil)
		p.Ready = lanes
		return p
	}
	type step struct {
		after  time.Duration
		self   peer
		others []peer
		asks   bool
		rest   []int
		give   []int
		ready  []int // if any is said
		mine   []int // if any is said
	}
	tests := map[string]struct {
		came  map[int]time.Duration // how long ago a lane has moved here
		steps []step
	}{
		"alone it asks for all": {steps: []step{{self: self()}, {after: time.Hour, self: self(0, 1, 2, 3)}}},
		"an idle fleet: what the other asks for is left to it": {steps: []step{
			{self: self(), others: []peer{other("b", all)}, rest: []int{1, 3}, mine: []int{0, 2}},
		}},
		"what the other does not ask for is asked for here": {steps: []step{
			{self: self(), others: []peer{other("b", []int{1})}, rest: []int{1}},
			{self: self(), others: []peer{other("b", nil)}, rest: []int{1}}, // it may be about to
			{after: 2 * time.Second, self: self(), others: []peer{other("b", nil)}},
			{after: time.Hour, self: self(), others: []peer{other("b", nil)}},
		}},
		"a host serves what is to come here: it hands it over, and until then it alone asks": {steps: []step{
			{self: self(), others: []peer{other("b", all, 0, 1, 2, 3)}, rest: all, ready: []int{2, 3}},
			{after: 5 * time.Second, self: self(), others: []peer{other("b", []int{0, 1}, 0, 1)}, rest: []int{0, 1}},
		}},
		"a host that serves it and does not ask for it has given it up": {steps: []step{
			{self: self(), others: []peer{other("b", []int{0, 1}, 0, 1, 2, 3)}, rest: []int{0, 1}},
		}},
		"the other is ready: lanes move": {steps: []step{
			{self: self(all...), others: []peer{ready("b", 2, 3)}},
			{after: 3 * time.Second, self: self(all...), others: []peer{ready("b", 2, 3)}, give: []int{2, 3}},
		}},
		"each serves a part: the one that is to serve it gets the rest soon": {
			came: map[int]time.Duration{3: 0},
			steps: []step{
				{self: self(1, 2, 3), others: []peer{other("b", all, 0, 3)}, rest: []int{0}},
				{after: 2*time.Second - 1, self: self(1, 2, 3), others: []peer{other("b", all, 0, 3)}, rest: []int{0}},
				{after: 1, self: self(1, 2, 3), others: []peer{other("b", all, 0, 3)}, rest: []int{0}, give: []int{3}},
			},
		},
		"a host joins: lanes move once that is settled": {steps: []step{
			{self: self(all...), others: []peer{other("b", all)}},
			{after: time.Second, self: self(all...), others: []peer{other("b", all)}},
			{after: 2 * time.Second, self: self(all...), others: []peer{other("b", all)}, give: []int{2, 3}, mine: all},
			{self: self(0, 1), others: []peer{other("b", all)}, rest: []int{2, 3}, mine: []int{0, 1}},
		}},
		"a host that comes and goes moves nothing": {steps: []step{
			{self: self(all...), others: []peer{other("b", all)}},
			{after: 2 * time.Second, self: self(all...)},
			{after: 2 * time.Second, self: self(all...), others: []peer{other("b", all)}},
			{after: 2 * time.Second, self: self(all...), others: []peer{other("b", all)}},
		}},
		"what has moved here stays for a while": {
			came: map[int]time.Duration{3: 5 * time.Second},
			steps: []step{
				{self: self(all...), others: []peer{other("b", all)}},
				{after: 3 * time.Second, self: self(all...), others: []peer{other("b", all)}, give: []int{2}},
				{after: 21 * time.Second, self: self(0, 1, 3), others: []peer{other("b", all, 2)}, rest: []int{2}},
				{after: time.Second, self: self(0, 1, 3), others: []peer{other("b", all, 2)}, rest: []int{2}, give: []int{3}},
			},
		},
		"a tool waits for an answer: the lane waits for that": {steps: []step{
			{self: self(all...), others: []peer{other("b", all)}, asks: true},
			{after: 5*time.Minute - 1, self: self(all...), others: []peer{other("b", all)}, asks: true},
			{self: self(all...), others: []peer{other("b", all)}, give: []int{2, 3}},
		}},
		"but not for ever": {steps: []step{
			{self: self(all...), others: []peer{other("b", all)}, asks: true},
			{after: 5 * time.Minute, self: self(all...), others: []peer{other("b", all)}, asks: true, give: []int{2, 3}},
		}},
		"each serves a part: the one that is to serve it keeps it": {steps: []step{
			{self: self(0, 1), others: []peer{other("b", all, 1, 2, 3)}, rest: []int{2, 3}},
			{after: time.Minute, self: self(0, 1), others: []peer{other("b", all, 1, 2, 3)}, rest: []int{2, 3}},
		}},
		"a host dies: its lanes are asked for": {steps: []step{
			{self: self(0, 1), others: []peer{other("b", all, 2, 3)}, rest: []int{2, 3}, mine: []int{0, 1}},
			{self: self(0, 1), mine: all},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBalance()
				for lane, ago := range tt.came {
					b.came[lane] = time.Now().Add(-ago)
				}
				for i, s := range tt.steps {
					time.Sleep(s.after)
					d := b.decide(s.self, s.others, func(int) bool { return s.asks })
					if !slices.Equal(d.rest, s.rest) || !slices.Equal(d.give, s.give) {
						t.Errorf("step %d: got rest %v, give %v, want %v, %v", i, d.rest, d.give, s.rest, s.give)
					}
					if s.ready != nil && !slices.Equal(d.ready, s.ready) {
						t.Errorf("step %d: ready for %v, want %v", i, d.ready, s.ready)
					}
					if s.mine != nil && !slices.Equal(d.mine, s.mine) {
						t.Errorf("step %d: got lanes %v, want %v", i, d.mine, s.mine)
					}
				}
			})
		})
	}
}

// Where several hosts serve parts of a lane that is to be another one's, the first of them gets all of
// it: else each would hand its part to a third.
func TestLaneInParts(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2, 3}
	hosts := map[string]peer{"a": other("a", all, all...), "b": other("b", all, all...), "c": other("c", all)}
	first := newBalance()
	placed := first.decide(hosts["a"], []peer{hosts["b"], hosts["c"]}, func(int) bool { return false }).placed
	lane := slices.IndexFunc(all, func(n int) bool { return placed[n] == "c" })
	if lane < 0 {
		t.Fatalf("no lane is to be that of c: %v", placed)
	}
	for self, want := range map[string]string{"a": "", "b": "a"} {
		t.Run(self, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var others []peer
				for name, p := range hosts {
					if name != self {
						others = append(others, p)
					}
				}
				b := newBalance()
				b.decide(hosts[self], others, func(int) bool { return false })
				time.Sleep(splitFor)
				d := b.decide(hosts[self], others, func(int) bool { return false })
				if given := slices.Contains(d.give, lane); given != (want != "") || given && d.placed[lane] != want {
					t.Errorf("lane %d is given: %t, to %s; want to %q", lane, given, d.placed[lane], want)
				}
			})
		})
	}
}

func TestRoster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := roster{fleet: "f", self: "me", peers: map[string]peer{}, since: time.Now()}
		say := func(p peer) bool {
			data, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			return r.hear(data)
		}
		want := func(what string, stranger, is bool, runs map[string]string, serving int) {
			t.Helper()
			if stranger != is || len(r.serving()) != serving {
				t.Errorf("%s: a stranger: %t, %d serve, want %t, %d", what, stranger, len(r.serving()), is, serving)
			}
			if diff := cmp.Diff(runs, r.runs()); diff != "" {
				t.Errorf("%s: runs:\n%s", what, diff)
			}
		}
		none, first, second := map[string]string{}, map[string]string{"b": "1"}, map[string]string{"b": "2"}
		b := peer{Fleet: "f", Host: "b", ID: "1", Weight: 1}
		want("no JSON", r.hear([]byte("hi")), false, nil, 0)
		want("this host", say(peer{Fleet: "f", Host: "a", ID: "me"}), false, nil, 0)
		want("another fleet", say(peer{Fleet: "g", Host: "c", ID: "7"}), false, nil, 0)
		want("first", say(b), true, nil, 1)
		time.Sleep(4 * time.Second)
		want("again", say(b), false, nil, 1)
		time.Sleep(4 * time.Second)
		r.expire()
		want("in time", false, false, first, 1)
		b.ID = "2"
		want("restarted", say(b), true, second, 1)
		want("what its run before has said last", say(peer{Fleet: "f", Host: "b", ID: "1", State: gone}), false, second, 1)
		b.State = leaving
		want("it leaves", say(b), false, second, 0)
		b.State = gone
		want("it is gone", say(b), false, none, 0)
		want("it is gone, once more", say(b), false, none, 0)
		b.State = ""
		want("back", say(b), true, second, 1)
		time.Sleep(presenceTTL + 1)
		r.expire()
		want("silent", false, false, none, 0)
	})
}
