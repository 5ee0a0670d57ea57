package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

func objects(t *testing.T, js jetstream.JetStream) int {
	t.Helper()
	store, err := js.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context())
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		t.Fatal(err)
	}
	return len(list)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	files := filestore.New(b.JS)
	for name, data := range map[string][]byte{"empty": {}, "small": []byte("hello"), "large": bytes.Repeat([]byte{0, 255}, 3<<20)} {
		first, err := files.Put(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		before := objects(t, b.JS)
		second, err := files.Put(t.Context(), data)
		if err != nil || second != first || objects(t, b.JS) != before {
			t.Errorf("%s, put again: got %s, %v, and %d objects, want %s and %d", name, second, err, objects(t, b.JS), first, before)
		}
		if got, err := files.Get(t.Context(), first); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(got), err, len(data))
		}
	}
	if n := objects(t, b.JS); n != 3 {
		t.Errorf("objects: got %d, want 3", n)
	}
}

// A file is stored in pieces that fit into a message, also on a server that takes less in one
// than the pieces of the client library have.
func TestFilesOnASmallPayload(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(o *server.Options) { o.MaxPayload = 64 << 10 })
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	bustest.Provision(t, b.JS)
	files, data := filestore.New(b.JS), bytes.Repeat([]byte("x"), 300<<10)
	name, err := files.Put(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := files.Get(t.Context(), name); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(data))
	}
}

func TestFilesDelete(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	files := filestore.New(b.JS)
	name, err := files.Put(t.Context(), []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is gone already
		if err := files.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if _, err := files.Get(t.Context(), name); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("deleted file: got %v, want it not to be found", err)
	}
	if again, err := files.Put(t.Context(), []byte("hello")); err != nil || again != name {
		t.Errorf("put again: got %s, %v, want %s", again, err, name)
	}
}

func TestFilesPutByMany(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	files, data := filestore.New(b.JS), bytes.Repeat([]byte("x"), 300<<10)
	var hosts errgroup.Group
	for range 8 {
		hosts.Go(func() error { _, err := files.Put(context.Background(), data); return err })
	}
	if err := hosts.Wait(); err != nil {
		t.Fatal(err)
	}
	name, err := files.Put(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := files.Get(t.Context(), name); err != nil || !bytes.Equal(got, data) || objects(t, b.JS) != 1 {
		t.Errorf("got %d bytes, %v, in %d objects, want %d in 1", len(got), err, objects(t, b.JS), len(data))
	}
}

func TestFilesFail(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	files := filestore.New(b.JS)
	_, err := files.Put(t.Context(), []byte("x"))
	bustest.WantError(t, err, "store file: ", "bucket not found")
	_, err = files.Get(t.Context(), "abc")
	bustest.WantError(t, err, "read file abc: ", "bucket not found")
	bustest.Provision(t, b.JS)
	name, err := files.Put(t.Context(), []byte("xy"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := files.GetWithin(t.Context(), name, 2); err != nil || string(data) != "xy" {
		t.Errorf("within its size: got %q, %v", data, err)
	}
	if _, err := files.GetWithin(t.Context(), name, 1); !errors.Is(err, filestore.ErrTooLarge) {
		t.Errorf("too large: got %v", err)
	}
	missing := strings.Repeat("0", 64)
	if _, err := files.GetWithin(t.Context(), missing, 1); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("missing: got %v, want %v", err, jetstream.ErrObjectNotFound)
	}
	if _, err := files.Get(t.Context(), missing); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("missing: got %v, want %v", err, jetstream.ErrObjectNotFound)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = files.Put(ctx, []byte("x"))
	bustest.WantError(t, err, "store file: ")
}

// A file is stored once NATS is back.
func TestFilesWaitForNATS(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	bustest.Provision(t, b.JS)
	away := b.NC.StatusChanged(nats.RECONNECTING)
	server.Stop()
	<-away
	files := filestore.New(b.JS)
	if _, err := files.Put(canceled(t), []byte("hello")); err == nil {
		t.Error("stored, while NATS is away")
	}
	var stored errgroup.Group
	stored.Go(func() error {
		_, err := files.Put(t.Context(), []byte("hello"))
		return err
	})
	server.Start()
	if err := stored.Wait(); err != nil {
		t.Error(err)
	}
	if n := objects(t, b.JS); n != 1 {
		t.Errorf("objects: got %d, want 1", n)
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
