package run_test

import (
	"encoding/json"
	"testing"

	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

// The result of a task that waits, or is under way, goes to another subject from then on. What a
// state was before does not change, nor does an input that is no task.
func TestFoldInputMoved(t *testing.T) {
	t.Parallel()
	input := func(id, envelope string) run.Input { return run.Input{ID: id, Envelope: json.RawMessage(envelope)} }
	task := func(to string) string { return `{"reply_to":"` + to + `","text":"a"}` }
	before := run.State{Waiting: []run.Input{input("w", task("old")), input("m", `{"text":"b"}`), input("x", task("old"))}}
	before = run.Fold(before, run.Event{Type: run.Started, Run: "r1", Inputs: []run.Input{input("u", task("old"))}})
	after := before
	for _, id := range []string{"w", "m", "u", "unknown"} {
		after = run.Fold(after, run.Event{Type: run.InputMoved, Inputs: []run.Input{{ID: id}}, To: "new"})
	}
	envelopes := func(s run.State) (list []string) {
		for _, in := range append(s.Run.Inputs[:1:1], s.Waiting...) {
			list = append(list, in.ID+" "+string(in.Envelope))
		}
		return list
	}
	if diff := cmp.Diff([]string{"u " + task("new"), "w " + task("new"), `m {"text":"b"}`, "x " + task("old")}, envelopes(after)); diff != "" {
		t.Error("after (-want +got):\n" + diff)
	}
	if diff := cmp.Diff([]string{"u " + task("old"), "w " + task("old"), `m {"text":"b"}`, "x " + task("old")}, envelopes(before)); diff != "" {
		t.Error("before (-want +got):\n" + diff)
	}
}
