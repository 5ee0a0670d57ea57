package ask

import (
	"slices"
	"testing"

	"agenthost/bus"
	"agenthost/run"
)

// The first of several questions is found wherever it was put, and keeps its number.
func TestFirstOfSeveralQuestions(t *testing.T) {
	t.Parallel()
	chat := &bus.Origin{Agent: "ana", Session: "web/dm/ana", Subject: "plugin.outbound.web", To: "ana"}
	address := &bus.Origin{Subject: "plugin.outbound.web", To: "ana"}
	own := Waiting{ID: "own", Agent: "ana", Session: "web/dm/ana", Kind: run.ForQuestion, Origin: chat}
	clock := Waiting{ID: "clock", Agent: "ana", Session: "schedule/daily", Kind: run.ForQuestion, Origin: address}
	task := Waiting{ID: "task", Agent: "ops", Session: "route/ana/task", Kind: run.ForQuestion, Origin: chat}
	other := Waiting{ID: "other", Agent: "ana", Session: "web/dm/eve", Kind: run.ForQuestion, Origin: &bus.Origin{Agent: "ana", Session: "web/dm/eve", Subject: "plugin.outbound.web", To: "eve"}}
	second := func(w Waiting) Waiting {
		w.ID, w.Number = "second", 2
		return w
	}
	for _, first := range []Waiting{own, clock, task} {
		for _, next := range []Waiting{second(own), second(clock), second(task)} {
			if first.ID == task.ID && next.Session == clock.Session { // only knows an address, and has no number after a task
				continue
			}
			q := NewIndex()
			q.whole()
			q.add(first)
			q.add(other)
			if q.isFirst(t.Context(), first) {
				t.Errorf("%s is the first of several, and is alone", first.ID)
			}
			if got := q.firsts(next); !slices.Equal(got, []string{first.ID}) {
				t.Errorf("before %s of %s: %q, want %s", next.ID, next.Session, got, first.ID)
			}
			q.setNumber(first.ID, 1)
			q.add(next)
			if got := q.firsts(next); len(got) > 0 || q.Number(first.ID) != 1 || q.Number(next.ID) != 2 || q.Number(other.ID) != 0 {
				t.Errorf("numbered: %q is without, %s has %d", got, first.ID, q.Number(first.ID))
			}
			if q.close(next.ID); !q.isFirst(t.Context(), first) {
				t.Errorf("%s is not the first any more", first.ID)
			}
			q.close(first.ID)
			if q.setNumber(first.ID, 1); q.Number(first.ID) != 0 || len(q.at)+len(q.asked) > 0 {
				t.Errorf("%s is answered, and has the number %d", first.ID, q.Number(first.ID))
			}
		}
	}
}
