package session

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A commit is written by hand, and read by encoding/json.
func TestEncodeCommit(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, want := range map[string]Commit{
		"of a run":          {V: version, Key: "web/dm/ana", Run: "r1", Events: []run.Event{{Type: run.Started, At: at, Run: "r1"}, {Type: run.Suspended, At: at}}},
		"of none":           {V: version, Key: "web/dm/ana", Events: []run.Event{{Type: run.InputAdded, At: at}}},
		"of a strange name": {V: version, Key: "web/dm/<\"é\u2028\n\\>", Run: "\x00", Events: []run.Event{{Type: run.Finished, At: at}}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := appendCommit(nil, want.Key, want.Run, want.Events)
			if err != nil {
				t.Fatal(err)
			}
			got := Commit{}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if data, err := appendCommit(nil, "k", "", []run.Event{{Args: []byte("{")}}); err == nil {
		t.Errorf("got %s, want an error", data)
	}
}

// So is a snapshot.
func TestEncodeSnapshot(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, want := range map[string]snapshot{
		"of nothing": {V: version, State: run.State{Phase: run.Idle}, IDs: []known{}},
		"of a run": {
			V: version, Key: "web/dm/<\"é\u2028\n\\>", Seq: 1 << 63, Replied: 7,
			State: run.State{
				Phase: run.Invoking, Messages: []llm.Message{llm.UserText("hello"), llm.UserText("a <\"b\">")},
				Run: &run.Run{ID: "r1", Inputs: []run.Input{}, Started: at}, Spent: 9,
			},
			IDs: []known{{ID: "in-\"1\"", Seq: 3}, {ID: "in-2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := want.appendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := snapshot{}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(snapshot{}, run.State{}, run.Call{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	bad := snapshot{State: run.State{Waiting: []run.Input{{Envelope: []byte("{")}}}}
	if data, err := bad.appendJSON(nil); err == nil {
		t.Errorf("got %s, want an error", data)
	}
}

// A session of two hundred turns.
func BenchmarkEncodeSnapshot(b *testing.B) {
	snap := snapshot{V: version, Key: "web/dm/ana", Seq: 200, State: run.State{Phase: run.Settled}}
	for i := range uint64(200) {
		snap.State.Messages = append(snap.State.Messages,
			llm.UserText("hello, what is new today?"),
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "Nothing new, Ana.\nWhat can I do for you?"}}})
		snap.IDs = append(snap.IDs, known{ID: "telegram-8841-55", Seq: i})
	}
	b.ReportAllocs()
	for b.Loop() {
		data, err := snap.appendJSON(nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(data)))
	}
}
