package session

import (
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
)

// A file of a session that is deleted stays when the same is sent to another agent at that moment:
// its message comes after the search for what names it.
func TestFileThatIsSentAgainDuringADeletion(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	a, files := NewArchive(b.JS), filestore.New(b.JS)
	store := func(data string) string {
		t.Helper()
		name, err := files.Put(t.Context(), []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	sent, old := store("sent again"), store("old")
	left, err := a.leave(t.Context(), map[string]bool{sent: true, old: true})
	if err != nil || len(left) != 2 {
		t.Fatalf("left: got %v, %v, want two", left, err)
	}
	store("sent again")
	if n, err := a.deleteUnnamed(t.Context(), left); n != 1 || err != nil {
		t.Errorf("got %d deleted, %v, want 1", n, err)
	}
	if data, err := files.Get(t.Context(), sent); string(data) != "sent again" {
		t.Errorf("what was sent again: got %q, %v", data, err)
	}
	if data, err := files.Get(t.Context(), old); err == nil {
		t.Errorf("what was not: got %q, want it gone", data)
	}
}
