package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A host that writes a record keeps what others have reserved, and books what the dead had.
func TestSettled(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	later, over := now.Add(time.Hour), now
	mine := Share{Reserved: 1, Runs: Reservations{"m": 1}, Until: over, Write: "me.1"}
	other := Share{Reserved: 10, Runs: Reservations{"o": 10}, Until: later, Write: "two.1"}
	dead := Share{Reserved: 100, Runs: Reservations{"d": 100}, Until: over, Write: "three.1"}
	before := Share{Reserved: 1000, Runs: Reservations{"m": 600, "n": 400}, Until: later, Write: "an earlier life.7"}
	for name, tt := range map[string]struct {
		record Spend
		booked Reservations // of this host, by another
		want   Spend
	}{
		"what others have reserved": {
			record: Spend{Spent: 5, Models: Reservations{"gpt": 5}, Hosts: map[string]Share{"one": mine, "two": other}},
			want:   Spend{Spent: 5, Models: Reservations{"gpt": 5}, Hosts: map[string]Share{"two": other}},
		},
		"what the dead had reserved": {
			record: Spend{Spent: 5, Hosts: map[string]Share{"two": other, "three": dead}},
			want:   Spend{Spent: 105, Hosts: map[string]Share{"two": other}, Lost: Reservations{"d": 100}},
		},
		"what an earlier life had reserved": {
			record: Spend{Spent: 5, Hosts: map[string]Share{"one": before}, Lost: Reservations{"m": 1}},
			want:   Spend{Spent: 1005, Hosts: map[string]Share{}, Lost: Reservations{"m": 601, "n": 400}},
		},
		"what was booked of this host": {
			record: Spend{Spent: 105, Hosts: map[string]Share{}, Lost: Reservations{"m": 60, "n": 40}},
			booked: Reservations{"m": 60, "n": 50, "unknown": 9},
			want:   Spend{Spent: 5, Hosts: map[string]Share{}, Lost: Reservations{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.record.settled("one", "me", tt.booked, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The runs of a record are bounded, and what the dead had reserved is not.
func TestBookedRunsAreBounded(t *testing.T) {
	t.Parallel()
	s := Spend{Lost: Reservations{"known": 1}}
	for i := range maxLost - 2 {
		s.Lost.add(fmt.Sprint(i), 1)
	}
	s.book(Share{Reserved: 7, Runs: Reservations{"last": 7}})
	s.book(Share{Reserved: 5, Runs: Reservations{"known": 5}})
	s.book(Share{Reserved: 9, Runs: Reservations{"too many": 9}})
	if s.Spent != 21 || len(s.Lost) != maxLost || s.Lost["known"] != 6 || s.Lost["last"] != 7 {
		t.Errorf("%d are spent, %d runs are known; want 21, and %d", s.Spent, len(s.Lost), maxLost)
	}
}

// A run that is tried again has lost what other hosts have reserved for it, and not what this one has.
func TestLost(t *testing.T) {
	t.Parallel()
	s := Spend{Lost: Reservations{"run": 1, "another": 2}, Hosts: map[string]Share{
		"one": {Runs: Reservations{"run": 4}, Write: "me.1"},
		"two": {Runs: Reservations{"run": 8, "another": 16}, Write: "two.1"},
	}}
	if got := s.lost("run", "me"); got != 9 {
		t.Errorf("got %d, want 9", got)
	}
}

// The first reservation that expires is the one that has to be looked at next.
func TestExpires(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	s := Spend{Hosts: map[string]Share{
		"one": {Reserved: 1, Until: at(1)}, "two": {Until: at(2)}, "three": {Reserved: 1, Until: at(4)}, "four": {Reserved: 1, Until: at(3)},
	}}
	if got := s.expires("one"); !got.Equal(at(3)) {
		t.Errorf("got %v, want %v", got, at(3))
	}
	delete(s.Hosts, "three")
	delete(s.Hosts, "four")
	if got := s.expires("one"); !got.IsZero() {
		t.Errorf("got %v, want none", got)
	}
}

// Calls that all fit begin at once; those that do not wait for what is under way, in their order.
func TestJudge(t *testing.T) {
	t.Parallel()
	others := map[string]Share{"two": {Reserved: 30}}
	for name, tt := range map[string]struct {
		record Spend
		held   Reservations
		claims []claim
		want   []verdict
		holds  int64
	}{
		"all fit": {
			Spend{Spent: 10, Hosts: others},
			Reservations{"x": 20},
			[]claim{{run: "a", amount: 20, limit: 100}, {run: "b", amount: 20, limit: 100}},
			[]verdict{admitted, admitted},
			60,
		},
		"one waits, and those behind it": {
			Spend{Spent: 10, Hosts: others},
			Reservations{"x": 20},
			[]claim{{run: "a", amount: 20, limit: 100}, {run: "b", amount: 21, limit: 100}, {run: "c", amount: 1, limit: 100}},
			[]verdict{admitted, waiting},
			40,
		},
		"one is refused": {
			Spend{Spent: 90, Hosts: others},
			nil,
			[]claim{{run: "a", input: 11, amount: 20, limit: 100}, {run: "b", amount: 0, limit: 90}, {run: "c", amount: 5, limit: 100, soft: true}},
			[]verdict{refused, refused, admitted},
			5,
		},
		"without a limit": {
			Spend{Spent: math.MaxInt64 - 1, Hosts: others},
			nil,
			[]claim{*claim{run: "a", amount: 20}.unlimited()},
			[]verdict{admitted},
			20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := booking{held: maps.Clone(tt.held)}
			for i := range tt.claims {
				b.claims = append(b.claims, &tt.claims[i])
			}
			got, held := judge(b, tt.record)
			if !slices.Equal(got, tt.want) || held.total() != tt.holds {
				t.Errorf("got %v with %d reserved, want %v with %d", got, held.total(), tt.want, tt.holds)
			}
		})
	}
}
