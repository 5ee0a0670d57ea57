//go:build long

package filestore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/streams"
)

// A file that a copy of the bucket lacks is waited for, and one that was deleted
// is stored again though a copy still has it.
func TestFilesOfALaggingCopy(t *testing.T) {
	t.Parallel()
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), b.JS, 3, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	files := filestore.New(b.JS)
	store := func(data string) string {
		t.Helper()
		name, err := files.Put(t.Context(), []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	deleted := store("deleted")
	catchUp := c.Lag("OBJ_" + bus.FilesBucket)
	defer catchUp()
	if err := files.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{store("deleted"): "deleted", store("new"): "new"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for name, data := range names {
		if _, err := files.Get(ctx, name); errors.Is(err, jetstream.ErrObjectNotFound) {
			t.Errorf("%s, while the copy lags: got %v, want another error", data, err)
		}
		if _, err := files.GetWithin(ctx, name, 3); data == "deleted" && !errors.Is(err, filestore.ErrTooLarge) && ctx.Err() == nil {
			t.Errorf("%s, while the copy lags: got %v, want %v", data, err, filestore.ErrTooLarge)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	kept := store("kept")
	if err := files.Delete(short, kept); err == nil {
		t.Error("a file that the copy lacks is said to be deleted")
	}
	catchUp()
	if err := files.Delete(t.Context(), kept); err != nil {
		t.Error(err)
	}
	if _, err := files.Get(t.Context(), kept); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("what was deleted: got %v, want %v", err, jetstream.ErrObjectNotFound)
	}
	for name, data := range names {
		if got, err := files.Get(t.Context(), name); err != nil || string(got) != data {
			t.Errorf("got %q, %v, want %q", got, err, data)
		}
	}
	if _, err := files.Get(t.Context(), "never"); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("what was never stored: got %v, want %v", err, jetstream.ErrObjectNotFound)
	}
}
