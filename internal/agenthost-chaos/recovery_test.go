//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func second(n float64) time.Time {
	return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(time.Second)))
}

func TestRecoveries(t *testing.T) {
	harms := []harm{
		{"host-kill", second(10), second(11)},
		{"step-down", second(20), second(20)},
		{"model-errors", second(21), second(23)},
		{"node-kill", second(40), second(43)},
		{"cut", second(90), second(91)},
	}
	replies := []answered{
		{second(9), second(12)}, {second(11), second(14)}, // the first was said before the fault
		{second(20.5), second(35)}, {second(41), second(41.5)},
	}
	model := []span{{second(21), second(23)}, {second(22), second(34)}}
	got := recoveryRows(recoveries(harms, replies, model))
	want := []string{
		"  20.5 s at most, 20.5 s mostly, after model-errors, with the model's errors (1)",
		"  15.0 s at most, 15.0 s mostly, after step-down, with the model's errors (1)",
		"   4.0 s at most,  4.0 s mostly, after host-kill (1)",
		"   1.5 s at most,  1.5 s mostly, after node-kill (1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCovered(t *testing.T) {
	spans := []span{{second(5), second(7)}, {second(1), second(3)}, {second(2), second(4)}, {second(6), second(6.5)}, {second(9), second(20)}}
	tests := map[string]struct {
		of   span
		want float64
	}{
		"all":         {span{second(0), second(30)}, 16},
		"a part":      {span{second(3.5), second(6)}, 1.5},
		"inside":      {span{second(10), second(12)}, 2},
		"in between":  {span{second(7), second(9)}, 0},
		"before them": {span{second(-5), second(1)}, 0},
	}
	for name, tt := range tests {
		if got := covered(tt.of, spans).Seconds(); got != tt.want {
			t.Errorf("%s: got %v s, want %v", name, got, tt.want)
		}
	}
}

// A host keeps calls back from the opening of a breaker until it is closed, or the host restarts.
func TestBreakerSpans(t *testing.T) {
	log := `{"time":"2026-01-01T12:00:01Z","message":"breaker turned","state":"open"}
{"time":"2026-01-01T12:00:11Z","message":"breaker turned","state":"half_open"}
no JSON
{"time":"2026-01-01T12:00:12Z","message":"breaker turned","state":"closed"}
{"time":"2026-01-01T12:00:20Z","message":"breaker turned","state":"open"}
{"time":"2026-01-01T12:00:25Z","message":"NATS connected"}
{"time":"2026-01-01T12:00:30Z","message":"breaker turned","state":"open"}
{"time":"2026-01-01T12:00:33Z","message":"stopped"}
`
	want := []span{{second(1), second(12)}, {second(20), second(25)}, {second(30), second(33)}}
	if diff := cmp.Diff(want, breakerSpans([]byte(log)), cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
