package unsent_test

import (
	"testing"

	"agenthost/agents/internal/unsent"

	"github.com/google/go-cmp/cmp"
)

func TestCaughtUp(t *testing.T) {
	tests := map[string]struct {
		looks   [][2]uint64
		in, out []uint64
	}{
		"nothing":       {nil, nil, []uint64{0, 1, 75}},
		"one look":      {[][2]uint64{{75, 120}}, []uint64{75, 100, 120}, []uint64{0, 74, 121}},
		"further back":  {[][2]uint64{{100, 120}, {75, 110}}, []uint64{75, 120}, []uint64{74, 121}},
		"further ahead": {[][2]uint64{{75, 110}, {100, 120}}, []uint64{75, 120}, []uint64{74, 121}},
		"apart":         {[][2]uint64{{10, 20}, {75, 120}}, []uint64{75, 120}, []uint64{15, 30, 74}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := unsent.CaughtUp{}
			for _, l := range tt.looks {
				u.Add(unsent.CaughtUp{Plugins: l[0], First: l[0], Last: l[1]})
			}
			for _, seq := range tt.in {
				if !u.Has(seq) {
					t.Errorf("%+v: got %d as not looked through", u, seq)
				}
			}
			for _, seq := range tt.out {
				if u.Has(seq) {
					t.Errorf("%+v: got %d as looked through", u, seq)
				}
			}
		})
	}
}

// Further back than all replies, those to plugins were looked for.
func TestCaughtUpForPlugins(t *testing.T) {
	u := unsent.CaughtUp{}
	if u.ForPlugins(0) {
		t.Error("got a commit as looked through before any look")
	}
	u.Add(unsent.CaughtUp{Plugins: 50, First: 100, Last: 120})
	u.Add(unsent.CaughtUp{Plugins: 80, First: 80, Last: 110})
	if diff := cmp.Diff(unsent.CaughtUp{Plugins: 50, First: 80, Last: 120}, u); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
	for seq, want := range map[uint64]bool{49: false, 50: true, 80: true, 120: true, 121: false} {
		if got := u.ForPlugins(seq); got != want {
			t.Errorf("%d: got %v, want %v", seq, got, want)
		}
	}
	if u.Has(50) {
		t.Error("all replies of commit 50 count as looked for")
	}
}
