package filestore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"

	"github.com/nats-io/nats.go/jetstream"
)

// stored are the messages of the bucket.
func stored(t *testing.T, js jetstream.JetStream) (subjects []string) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "OBJ_"+bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range bustest.Stored(t, js, stream.CachedInfo()) {
		subjects = append(subjects, msg.Subject)
	}
	return subjects
}

// What is erased leaves nothing in the bucket, not even that it was there.
func TestErase(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	files := filestore.New(b.JS)
	name, err := files.Put(t.Context(), []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	file, known, err := files.ToErase(t.Context(), name)
	if err != nil || !known {
		t.Fatalf("got known %t, %v", known, err)
	}
	if again, _, err := files.ToErase(t.Context(), name); again != file || err != nil {
		t.Errorf("marked twice: got %+v and %+v, %v", file, again, err)
	}
	if left, err := files.Left(t.Context()); len(left) != 1 || left[0].Name != name || err != nil {
		t.Errorf("left are %v, %v, want %v", left, err, file)
	}
	if end, err := files.Erase(t.Context(), file); end != filestore.Erased || err != nil {
		t.Errorf("got %v, %v", end, err)
	}
	if got := stored(t, b.JS); len(got) != 0 {
		t.Errorf("there is %q", got)
	}
	if end, err := files.Erase(t.Context(), file); end != filestore.Absent || err != nil {
		t.Errorf("a second time: got %v, %v", end, err)
	}
	if _, known, err := files.ToErase(t.Context(), name); known || err != nil {
		t.Errorf("what is gone: got known %t, %v", known, err)
	}
}

// What is said of a file while it is erased counts.
func TestFileIsKeptWhileItIsErased(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meanwhile func(*filestore.Store, context.Context, string) error
		want      filestore.Erasure
	}{
		"stored again": {func(f *filestore.Store, ctx context.Context, _ string) error {
			_, err := f.Put(ctx, []byte("data"))
			return err
		}, filestore.StoredAgain},
		"named again": {(*filestore.Store).Keep, filestore.StoredAgain},
		"left again":  {(*filestore.Store).Leave, filestore.MarkedAgain},
	} {
		for _, late := range []bool{false, true} { // at the last moment
			b := bustest.Open(t)
			bustest.Provision(t, b.JS)
			js := &faultyJS{JetStream: b.JS}
			files, others := filestore.New(js), filestore.New(b.JS)
			file, err := files.Put(t.Context(), []byte("data"))
			if err != nil {
				t.Fatal(err)
			}
			marked, _, err := files.ToErase(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			meanwhile := func() {
				if err := tt.meanwhile(others, t.Context(), file); err != nil {
					t.Error(err)
				}
			}
			if late {
				js.before = meanwhile
			} else {
				meanwhile()
			}
			if end, err := files.Erase(t.Context(), marked); end != tt.want || err != nil {
				t.Errorf("%s, late %t: got %v, %v, want %v", name, late, end, err, tt.want)
			}
			if data, err := files.Get(t.Context(), file); string(data) != "data" {
				t.Errorf("%s, late %t: got %q, %v", name, late, data, err)
			}
		}
	}
}

// An erasure that was broken off goes on where it was.
func TestEraseGoesOn(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	js := &faultyJS{JetStream: b.JS}
	files := filestore.New(js)
	name, err := files.Put(t.Context(), []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	file, _, err := files.ToErase(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	js.stream = no
	if _, err := files.Erase(t.Context(), file); !errors.Is(err, no) || !strings.Contains(err.Error(), name) {
		t.Fatalf("got %v", err)
	}
	if got := stored(t, b.JS); len(got) < 2 {
		t.Fatalf("there is %q, want the content as well", got)
	}
	js.stream = nil
	file, known, err := files.ToErase(t.Context(), name)
	if err != nil || !known {
		t.Fatalf("got known %t, %v", known, err)
	}
	if end, err := files.Erase(t.Context(), file); end != filestore.Absent || err != nil {
		t.Errorf("got %v, %v", end, err)
	}
	if got := stored(t, b.JS); len(got) != 0 {
		t.Errorf("there is %q", got)
	}
}
