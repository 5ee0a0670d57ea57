package session

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

// A commit is written by hand, and read by encoding/json.
func TestEncodeCommit(t *testing.T) {
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
