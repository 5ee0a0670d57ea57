package lanes

import (
	"testing"
	"time"
)

// A lane is served since its first stream came after one of it was lost: what has no messages
// stays with a host that stands still while another serves the rest.
func TestServedSince(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	tests := map[string]struct{ idle, busy, lost, want time.Time }{
		"never lost":              {at(5), at(1), time.Time{}, at(1)},
		"stood still":             {at(1), at(9), at(8), at(9)},
		"away, and back":          {at(12), at(9), at(8), at(9)},
		"has only the idle again": {at(1), at(2), at(8), at(1)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, got := range []time.Time{servedSince(tt.idle, tt.busy, tt.lost), servedSince(tt.busy, tt.idle, tt.lost)} {
				if !got.Equal(tt.want) {
					t.Errorf("got %d, want %d", got.Unix(), tt.want.Unix())
				}
			}
		})
	}
}
