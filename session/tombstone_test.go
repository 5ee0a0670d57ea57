package session_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/session"
)

// The record of a deletion covers what its streams had by then, and no message of later, also of a
// stream that was made anew and counts from 1.
func TestTombstone(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	covers := func(stream string, seq uint64, stored time.Time) bool {
		t.Helper()
		d, err := s.Tombstone(t.Context(), "bot", ana)
		if err != nil {
			t.Fatal(err)
		}
		return d.Covers(stream, seq, stored)
	}
	now := time.Now()
	put(t, b, bus.InboundPrefix+"web", `{"from":"ana","text":"hi"}`)
	put(t, b, bus.RoutePrefix+"bot", `{"kind":"delegate","from":"x","text":"hi"}`)
	owner := openTalk(t, s)
	owner.turn()
	if covers(bus.InboundStream, 1, now) {
		t.Error("a session that was not deleted")
	}
	if _, err := archive(b).Delete(t.Context(), "bot", session.SID("bot", ana), false); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		stream string
		seq    uint64
		stored time.Time
		want   bool
	}{
		"a message":            {bus.InboundStream, 1, now, true},
		"a later one":          {bus.InboundStream, 2, now, false},
		"a task":               {bus.RoutesStream, 1, now, true},
		"of the clock":         {bus.SchedulesStream, 1, now, false},
		"of another stream":    {bus.EventsStream, 1, now, false},
		"of a stream made new": {bus.InboundStream, 1, now.Add(time.Hour), false},
	} {
		if got := covers(tt.stream, tt.seq, tt.stored); got != tt.want {
			t.Errorf("%s: got %t, want %t", what, got, tt.want)
		}
	}
}
