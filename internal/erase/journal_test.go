package erase_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// The journal of an erasure that was killed while it deleted it holds up no other: what is left of it
// goes with the next one, of any person.
func TestRunDeletesWhatIsLeftOfAJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store, err := w.js.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := w.js.Stream(t.Context(), "OBJ_"+bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"erasure-small": 10, "erasure-large": 200_000} {
		data := bytes.NewReader([]byte(`{"person":"irc.x/bo","agent":"","words":["` + strings.Repeat("x", size) + `"]}`))
		info, err := store.Put(t.Context(), jetstream.ObjectMeta{Name: name}, data)
		if err != nil {
			t.Fatal(err)
		}
		first, err := stream.GetMsg(t.Context(), 0, jetstream.WithGetMsgSubject("$O."+bus.FilesBucket+".C."+info.NUID))
		if err == nil {
			err = stream.SecureDeleteMsg(t.Context(), first.Sequence)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.erase("irc.x/zoe-1", ""); err != nil {
		t.Fatal(err)
	}
	if left, _ := w.left(); slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, "$O.") }) {
		t.Errorf("left: %q", left)
	}
}
