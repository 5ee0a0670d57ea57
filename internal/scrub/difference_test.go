package scrub

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffers(t *testing.T) {
	a, b, c := "nats-0", "nats-1", "nats-2"
	lacking := func(lack string, have ...string) difference {
		return difference{subject: "s", have: have, lack: []string{lack}, groups: map[string][]string{"x": have}}
	}
	tests := map[string]struct {
		differ map[uint64]difference
		want   []string
	}{
		"one message": {map[uint64]difference{7: lacking(b, a, c)}, []string{"message 7 is missing on nats-1; nats-0, nats-2 has it"}},
		"next to each other": {
			map[uint64]difference{7: lacking(b, a, c), 8: lacking(b, a, c), 9: lacking(b, a, c)},
			[]string{"messages 7 to 9 are missing on nats-1; nats-0, nats-2 has them"},
		},
		"apart, and elsewhere": {
			map[uint64]difference{7: lacking(b, a, c), 9: lacking(b, a, c), 10: lacking(c, a, b)},
			[]string{
				"message 7 is missing on nats-1; nats-0, nats-2 has it", "message 9 is missing on nats-1; nats-0, nats-2 has it",
				"message 10 is missing on nats-2; nats-0, nats-1 has it",
			},
		},
		"on two": {
			map[uint64]difference{7: {have: []string{a}, lack: []string{b, c}, groups: map[string][]string{"x": {a}}}},
			[]string{"message 7 is missing on nats-1; nats-0 has it", "message 7 is missing on nats-2; nats-0 has it"},
		},
		"changed on one": {
			map[uint64]difference{7: {have: []string{a, b, c}, groups: map[string][]string{"x": {a, c}, "y": {b}}}},
			[]string{"message 7 on nats-1 is not that of nats-0, nats-2"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scrubber{}
			s.differs("S", tt.differ)
			var got []string
			for _, f := range s.report.Findings {
				got = append(got, f.Text)
				if f.Stream != "S" || f.Server == "" || f.Seq == 0 {
					t.Errorf("got %+v, want stream, server and sequence", f)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindingsAreBounded(t *testing.T) {
	s := &scrubber{}
	for range mostFindings + 5 {
		s.found(Finding{})
	}
	if len(s.report.Findings) != mostFindings || s.report.More != 5 || s.report.Clean() {
		t.Errorf("got %d findings and %d more, want %d and 5", len(s.report.Findings), s.report.More, mostFindings)
	}
}
