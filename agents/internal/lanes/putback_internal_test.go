package lanes

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// A record of moves that cannot be read is written again by a host that knows what it held, once: null
// holds nothing, and would let an agent that is added take all that is stored. A host that knows
// nothing leaves it to the others.
func TestMovesArePutBack(t *testing.T) {
	known := moves{"plugin.inbound.web": {{From: []string{"ana"}, To: []string{"bob"}, At: time.Unix(10, 0).UTC()}}}
	tests := map[string]struct {
		known   moves
		written string
		want    string // empty: what is known
	}{
		"garbage":                      {known, "garbage", ""},
		"null":                         {known, "null", ""},
		"garbage, and nothing to know": {moves{}, "garbage", "{}"},
		"null, and nothing to know":    {moves{}, "null", "{}"},
		"garbage, and nothing known":   {nil, "garbage", "garbage"},
		"null, and nothing known":      {nil, "null", "null"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := bustest.Open(t)
				bustest.Provision(t, b.JS)
				var logged bustest.LogBuffer
				s := New(Options{JS: b.JS, Reader: records.NewReader(b.JS), Log: zerolog.New(&logged), Count: 1}, nil)
				s.routing.Store(newRouting(nil, 1, tt.known))
				kv, err := b.JS.KeyValue(t.Context(), bus.LanesBucket)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); s.followMoves(ctx, nil) }()
				defer func() { cancel(); <-done }()
				put, err := kv.PutString(t.Context(), movesKey, tt.written)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				entry, err := s.Reader.Entry(t.Context(), bus.LanesBucket, movesKey)
				if err != nil {
					t.Fatal(err)
				}
				want := tt.want
				if want == "" {
					data, _ := json.Marshal(tt.known) // it has no cycles
					want = string(data)
				}
				if diff := cmp.Diff(want, string(entry.Data)); diff != "" || entry.Seq > put+1 {
					t.Errorf("written %d times: %s", entry.Seq-put, diff)
				}
				if diff := cmp.Diff(tt.known, s.routing.Load().moves); diff != "" {
					t.Errorf("the host goes by others: %s", diff)
				}
				if n := strings.Count(logged.String(), "read which agents channels have: failed"); n != 1 {
					t.Errorf("logged %s", logged.String())
				}
			})
		})
	}
}
