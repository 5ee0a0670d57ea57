package filestore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/filestore"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A faultyJS stands in for what NATS says of the bucket.
type faultyJS struct {
	jetstream.JetStream
	before  func()       // a message is published
	publish func() error // instead of it, unless it is nil
	store   error        // of opening the bucket
	stream  error        // of looking at its stream
}

func (f *faultyJS) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if f.stream != nil {
		return nil, f.stream
	}
	return f.JetStream.Stream(ctx, name)
}

func (f *faultyJS) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if f.before != nil {
		before := f.before
		f.before = nil
		before()
	}
	if f.publish != nil {
		return nil, f.publish()
	}
	return f.JetStream.PublishMsg(ctx, msg, opts...)
}

func (f *faultyJS) ObjectStore(ctx context.Context, bucket string) (jetstream.ObjectStore, error) {
	if f.store != nil {
		return nil, f.store
	}
	return f.JetStream.ObjectStore(ctx, bucket)
}

// What a session names again while it is being deleted as left stays.
func TestFileIsKeptWhileItIsDeleted(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	for name, keep := range map[string]func(*filestore.Store, string) error{
		"named again": func(files *filestore.Store, name string) error { return files.Keep(t.Context(), name) },
		"stored again": func(files *filestore.Store, _ string) error {
			_, err := files.Put(t.Context(), []byte("stored again"))
			return err
		},
	} {
		js := &faultyJS{JetStream: b.JS}
		files, others := filestore.New(js), filestore.New(b.JS)
		file, err := files.Put(t.Context(), []byte(name))
		if err == nil {
			err = files.Leave(t.Context(), file)
		}
		left, listed := files.Left(t.Context())
		if err = errors.Join(err, listed); err != nil || len(left) != 1 {
			t.Fatalf("%s: left are %v, %v", name, left, err)
		}
		js.before = func() {
			if err := keep(others, file); err != nil {
				t.Error(err)
			}
		}
		if deleted, err := files.DeleteLeft(t.Context(), left[0]); deleted || err != nil {
			t.Errorf("%s: deleted: %t, %v", name, deleted, err)
		}
		if data, err := files.Get(t.Context(), file); string(data) != name {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
		if left, err := files.Left(t.Context()); len(left) != 0 || err != nil {
			t.Errorf("%s: left are %v, %v", name, left, err)
		}
	}
}

// A file is marked, and stored again, though it is marked by another at the same time.
func TestFileIsMarkedByTwo(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	js := &faultyJS{JetStream: b.JS}
	files, others := filestore.New(js), filestore.New(b.JS)
	file, err := files.Put(t.Context(), []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	again := func() {
		if err := others.Leave(t.Context(), file); err != nil {
			t.Error(err)
		}
	}
	again()
	for name, do := range map[string]func() error{
		"keep":  func() error { return files.Keep(t.Context(), file) },
		"leave": func() error { return files.Leave(t.Context(), file) },
		"put":   func() error { _, err := files.Put(t.Context(), []byte("data")); return err },
	} {
		again()
		js.before = again
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := files.Left(t.Context()); err != nil || (len(left) == 1) != (name == "leave") {
			t.Errorf("%s: left are %v, %v", name, left, err)
		}
	}
}

// What NATS refuses is not said to be done.
func TestFaultsOfFiles(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	js := &faultyJS{JetStream: b.JS}
	files := filestore.New(js)
	file, err := files.Put(t.Context(), []byte("data"))
	if err == nil {
		err = files.Leave(t.Context(), file)
	}
	left, listed := files.Left(t.Context())
	if err = errors.Join(err, listed); err != nil || len(left) != 1 {
		t.Fatalf("left are %v, %v", left, err)
	}
	unmarked, err := files.Put(t.Context(), []byte("unmarked"))
	if err != nil {
		t.Fatal(err)
	}
	no := &jetstream.APIError{ErrorCode: jetstream.JSErrCodeBadRequest, Description: "no"}
	for name, tt := range map[string]struct {
		publish bool
		do      func() error
	}{
		"put":         {do: func() error { _, err := files.Put(t.Context(), []byte("other")); return err }},
		"get":         {do: func() error { _, err := files.Get(t.Context(), file); return err }},
		"delete":      {do: func() error { return files.Delete(t.Context(), file) }},
		"lend":        {do: func() error { _, err := files.Lend(t.Context(), []byte("other")); return err }},
		"take back":   {do: func() error { return files.TakeBack(t.Context(), file) }},
		"leave":       {true, func() error { return files.Leave(t.Context(), file) }},
		"keep":        {true, func() error { return files.Keep(t.Context(), file) }},
		"put again":   {true, func() error { _, err := files.Put(t.Context(), []byte("data")); return err }},
		"to erase":    {true, func() error { _, _, err := files.ToErase(t.Context(), unmarked); return err }},
		"erase":       {true, func() error { _, err := files.Erase(t.Context(), left[0]); return err }},
		"delete left": {true, func() error { _, err := files.DeleteLeft(t.Context(), left[0]); return err }},
	} {
		js.store, js.publish = no, nil
		if tt.publish {
			js.store, js.publish = nil, func() error { return no }
		}
		if err := tt.do(); !errors.Is(err, no) || !strings.Contains(err.Error(), "file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	js.store, js.publish = nil, nil
	if data, err := files.Get(t.Context(), file); string(data) != "data" {
		t.Errorf("got %q, %v", data, err)
	}
	if n := objects(t, b.JS); n != 2 {
		t.Errorf("got %d objects, want 2", n)
	}
}

// Without the bucket none are left.
func TestNoFilesWithoutTheirBucket(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	if left, err := filestore.New(b.JS).Left(t.Context()); len(left) != 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}
