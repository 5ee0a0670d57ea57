package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What is left is there as before, and goes for good, unless it is stored again in
// between: then something is about to name it.
func TestFilesLeft(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	files := filestore.New(b.JS)
	store := func(data string) string {
		t.Helper()
		name, err := files.Put(t.Context(), []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	left := func() map[string]filestore.LeftFile {
		t.Helper()
		list, err := files.Left(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]filestore.LeftFile{}
		for _, f := range list {
			m[f.Name] = f
		}
		return m
	}
	stays, again, marked, gone := store("stays"), store("again"), store("marked"), store("gone")
	for _, name := range []string{again, marked, gone, "never"} {
		if err := files.Leave(t.Context(), name); err != nil {
			t.Errorf("leave %s: %v", name, err)
		}
	}
	before := left()
	if len(before) != 3 || before[again].Name == "" || before[marked].Name == "" || before[gone].Since.IsZero() {
		t.Fatalf("left: got %v, want three", before)
	}
	store("again")
	if err := files.Leave(t.Context(), marked); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{again: false, marked: false, gone: true} {
		if deleted, err := files.DeleteLeft(t.Context(), before[name]); deleted != want || err != nil {
			t.Errorf("delete %s: got %t, %v, want %t", name, deleted, err, want)
		}
	}
	if deleted, err := files.DeleteLeft(t.Context(), before[gone]); deleted || err != nil {
		t.Errorf("what is gone already: got %t, %v", deleted, err)
	}
	for name, want := range map[string]string{stays: "stays", again: "again", marked: "marked"} {
		if data, err := files.Get(t.Context(), name); string(data) != want {
			t.Errorf("got %q, %v, want %q", data, err, want)
		}
	}
	if _, err := files.Get(t.Context(), gone); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("got %v, want %v", err, jetstream.ErrObjectNotFound)
	}
	if err := files.Keep(t.Context(), marked); err != nil {
		t.Fatal(err)
	}
	if now := left(); len(now) != 0 {
		t.Errorf("left: got %v, want none", now)
	}
	if n := objects(t, b.JS); n != 3 {
		t.Errorf("got %d objects, want 3", n)
	}
	s, err := b.JS.Stream(t.Context(), "OBJ_AGENT_FILES")
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Msgs; n != 7 {
		t.Errorf("got %d messages, want content and entry of three, and the note that one was deleted", n)
	}
	if name := store("gone"); name != gone {
		t.Errorf("stored again as %s, want %s", name, gone)
	}
	if data, err := files.Get(t.Context(), gone); string(data) != "gone" {
		t.Errorf("stored again: got %q, %v", data, err)
	}
}

// What is lent is a file of its own until it is deleted, and is deleted as what was left
// when its host died.
func TestFilesLent(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(o *server.Options) { o.MaxPayload = 32 << 10 })
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	bustest.Provision(t, b.JS)
	files, data := filestore.New(b.JS), bytes.Repeat([]byte("x"), 300<<10)
	lend := func() string {
		t.Helper()
		name, err := files.Lend(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	ended, lost := lend(), lend()
	if got, err := files.Get(t.Context(), lost); err != nil || !bytes.Equal(got, data) || ended == lost {
		t.Errorf("got %d bytes, %v, of %s beside %s", len(got), err, lost, ended)
	}
	if err := files.TakeBack(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	left, err := files.Left(t.Context())
	if err != nil || len(left) != 1 || left[0].Name != lost {
		t.Fatalf("left: got %v, %v, want %s", left, err, lost)
	}
	if gone, err := files.DeleteLeft(t.Context(), left[0]); !gone || err != nil {
		t.Errorf("delete what its host has left: got %t, %v", gone, err)
	}
	if n := objects(t, b.JS); n != 0 {
		t.Errorf("objects: got %d, want 0", n)
	}
}

// Nothing stays of what could not be lent in time, as for a hook with a short timeout.
func TestFilesLentTooLate(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	files := filestore.New(b.JS)
	lend := func() error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sub, err := b.NC.Subscribe("$O.AGENT_FILES.C.>", func(*nats.Msg) { cancel() }) // at the first piece
		if err != nil {
			t.Fatal(err)
		}
		name, err := files.Lend(ctx, make([]byte, 16<<20))
		_ = sub.Unsubscribe() // the connection is there
		if err == nil {
			if err := files.TakeBack(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		return err
	}
	for lend() == nil { // it was quicker
	}
	bustest.Eventually(t, "nothing is left", func() bool {
		s, err := b.JS.Stream(t.Context(), "OBJ_AGENT_FILES")
		return err == nil && s.CachedInfo().State.Msgs == 0
	})
}
