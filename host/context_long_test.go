//go:build long

package host_test

import (
	"os"
	"testing"

	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"
)

// TestLongSession holds a thousand turns. What a session keeps in memory and
// what opening it reads follow from the window, not from its length.
func TestLongSession(t *testing.T) {
	t.Parallel()
	n := 1000
	if os.Getenv("AGENTHOST_CHAOS") == "1" {
		n = 10_000
	}
	const window = 4000
	b := newBrain(t)
	b.brief = true
	cfg := thinking(t, b, window)
	h, stop := start(t, cfg)
	c := converse(t, h)
	early := turns(c, n/10)
	before := heap()
	for range 8 {
		t.Logf("%v a turn", turns(c, n/10))
	}
	late := turns(c, n/10)
	t.Logf("%d turns: %v a turn in the first tenth, %v in the last; heap %d kB, then %d kB", n, early, late, before>>10, heap()>>10)
	if most := b.prompts()[0].size; most > 4*window {
		t.Errorf("the largest request is %d bytes", most)
	}
	key := session.DM("demo", "", "ana")
	nc := h.Bus().NC
	in := nc.Stats().InMsgs
	s := &session.Store{Reader: records.NewReader(h.Bus().JS), Files: filestore.New(h.Bus().JS)}
	l, err := s.Open(t.Context(), "demo", key)
	if err != nil {
		t.Fatal(err)
	}
	read := nc.Stats().InMsgs - in // the snapshot, the tail and the ends of its batches
	t.Logf("opening reads %d messages", read)
	if read > 400 {
		t.Errorf("opening it read %d messages", read)
	}
	if size := run.Estimate(l.State().Messages); size > window {
		t.Errorf("the state holds some %d tokens", size)
	}
	stop()
	again, _ := start(t, cfg)
	c2 := converse(t, again)
	c2.n = c.n
	c2.mustSay("and now?")
}
