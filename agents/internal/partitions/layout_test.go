package partitions_test

import (
	"testing"

	"agenthost/agents/internal/partitions"
	"agenthost/session"
)

// All hosts of a fleet, and all versions of them, have to agree on where a session is.
func TestOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[session.Key][3]int{
		"web/dm/ana":       {-1, 0, 24},
		"web/dm/ben":       {-1, 3, 39},
		"telegram/group/7": {-1, 0, 48},
	} {
		if got := [3]int{partitions.Of(key, 0), partitions.Of(key, 4), partitions.Of(key, 64)}; got != want {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
}

func TestReadLayout(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		record string
		want   partitions.Layout
		fails  bool
	}{
		"settled":         {`{"generation":3,"partitions":4,"former":2,"settled":true}`, partitions.Layout{Generation: 3, Partitions: 4, Former: 2, Settled: true}, false},
		"not settled":     {`{"generation":1,"partitions":4}`, partitions.Layout{Generation: 1, Partitions: 4}, false},
		"more before":     {`{"generation":3,"partitions":1,"former":2,"before":4,"settled":true}`, partitions.Layout{Generation: 3, Partitions: 1, Former: 2, Before: 4, Settled: true}, false},
		"no JSON":         {`{`, partitions.Layout{}, true},
		"negative":        {`{"partitions":-1}`, partitions.Layout{}, true},
		"too many":        {`{"partitions":1025}`, partitions.Layout{}, true},
		"negative before": {`{"before":-1}`, partitions.Layout{}, true},
		"too many at all": {`{"before":1025}`, partitions.Layout{}, true},
		"too many before": {`{"former":1025}`, partitions.Layout{}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := partitions.ReadLayout([]byte(tt.record))
			if (err != nil) != tt.fails || err == nil && got != tt.want {
				t.Errorf("got %+v and %v, want %+v", got, err, tt.want)
			}
		})
	}
}
