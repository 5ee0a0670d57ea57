package engine

import (
	"testing"

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
			u := caughtUp{}
			for _, l := range tt.looks {
				u.add(caughtUp{l[0], l[0], l[1]})
			}
			for _, seq := range tt.in {
				if !u.has(seq) {
					t.Errorf("%+v: got %d as not looked through", u, seq)
				}
			}
			for _, seq := range tt.out {
				if u.has(seq) {
					t.Errorf("%+v: got %d as looked through", u, seq)
				}
			}
		})
	}
}

// Further back than all replies, those to plugins were looked for.
func TestCaughtUpForPlugins(t *testing.T) {
	u := caughtUp{}
	if u.forPlugins(0) {
		t.Error("got a commit as looked through before any look")
	}
	u.add(caughtUp{plugins: 50, first: 100, last: 120})
	u.add(caughtUp{plugins: 80, first: 80, last: 110})
	if diff := cmp.Diff(caughtUp{plugins: 50, first: 80, last: 120}, u, cmp.AllowUnexported(caughtUp{})); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
	for seq, want := range map[uint64]bool{49: false, 50: true, 80: true, 120: true, 121: false} {
		if got := u.forPlugins(seq); got != want {
			t.Errorf("%d: got %v, want %v", seq, got, want)
		}
	}
	if u.has(50) {
		t.Error("all replies of commit 50 count as looked for")
	}
}
