package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// ErrNotEmpty is wrapped where a NATS has something of a fleet already.
var ErrNotEmpty = errors.New("restore only into an empty NATS: name another one with --server, or start this one with an empty store")

// cleanWithin is how long a restore that failed may take to remove what it made.
const cleanWithin = 30 * time.Second

// Restore puts a backup into a NATS that has nothing of a fleet yet, perhaps beside streams of others. All files are checked
// before anything is written. When it fails it removes what it has made; when it is killed
// no host starts on what is there, and the next Restore begins from the start.
func Restore(ctx context.Context, js jetstream.JetStream, folder string, opt Options) (Manifest, error) {
	m, err := Read(folder)
	if err != nil {
		return Manifest{}, err
	}
	if err := oldServer(js); err != nil {
		return Manifest{}, err
	}
	r := &restorer{js: js, folder: folder, opt: opt, id: nuid.Next(), all: len(m.Streams)}
	if err := r.makeRoom(ctx, m); err != nil {
		return Manifest{}, err
	}
	if err := r.restore(ctx, m); err != nil {
		return Manifest{}, r.fail(ctx, err)
	}
	return m, nil
}

// makeRoom marks the NATS, and removes what is in the way: streams without messages, as a
// host makes them, and what a restore that was killed has left. Messages of a fleet are an
// error, and so is a stream of others that takes what is to be restored. A restore that still works finds the mark of this one in the place of its own, and
// ends.
func (r *restorer) makeRoom(ctx context.Context, m Manifest) error {
	_, err := r.js.Stream(ctx, bus.RestoreStream)
	left := err == nil
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("look up stream %s: %w", bus.RestoreStream, err)
	}
	there, err := r.inTheWay(ctx, left)
	if err != nil {
		return err
	}
	if err := r.overlap(ctx, m); err != nil {
		return err
	}
	if err := r.mark(ctx, m, left); err != nil {
		return fmt.Errorf("make stream %s: %w", bus.RestoreStream, err)
	}
	if err := remove(ctx, r.js, there); err != nil {
		return r.fail(ctx, err)
	}
	return nil
}

// inTheWay are the streams of a fleet that are there; left: a restore has made them.
func (r *restorer) inTheWay(ctx context.Context, left bool) (there []string, err error) {
	for _, name := range append(names(), bus.UpgradeStream) {
		stream, err := r.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up stream %s: %w", name, err)
		}
		if n := stream.CachedInfo().State.Msgs; n > 0 && !left {
			return nil, fmt.Errorf("stream %s has %d messages: %w", name, n, ErrNotEmpty)
		}
		there = append(there, name)
	}
	return there, nil
}

func remove(ctx context.Context, js jetstream.JetStream, streams []string) error {
	var errs []error
	for _, name := range streams {
		if err := js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			errs = append(errs, fmt.Errorf("delete stream %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// A restorer restores one backup.
type restorer struct {
	js     jetstream.JetStream
	folder string
	opt    Options
	id     string   // in its mark
	made   []string // streams
	all    int
	bytes  int64
}

func (r *restorer) restore(ctx context.Context, m Manifest) error {
	for i, s := range m.Streams {
		if err := r.marked(ctx); err != nil {
			return err
		}
		r.made = append(r.made, s.Name)
		if err := r.stream(ctx, i, s); err != nil {
			return fmt.Errorf("restore stream %s: %w", s.Name, err)
		}
	}
	if err := r.marked(ctx); err != nil {
		return err
	}
	if err := delivery.Restored(ctx, r.js); err != nil {
		return err
	}
	return remove(ctx, r.js, []string{bus.RestoreStream}) // from here on a host may start
}

// mark makes the stream that keeps hosts away until all is there, or takes over one that was
// left. That the other has ended meanwhile, or begun, is an error.
func (r *restorer) mark(ctx context.Context, m Manifest, left bool) error {
	put := r.js.CreateStream
	if left {
		put = r.js.UpdateStream
	}
	_, err := put(ctx, jetstream.StreamConfig{
		Name: bus.RestoreStream, Description: bus.Description, Subjects: []string{bus.RestoreSubject},
		Metadata: map[string]string{"agenthost.backup": m.Moment.Format(time.RFC3339Nano), markID: r.id},
	})
	if err == nil {
		r.made = append(r.made, bus.RestoreStream)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("another restore has begun or ended just now: %w", err)
	}
	return err
}

// markID is the key of what tells the marks of two restores apart.
const markID = "agenthost.restore"

// errOvertaken ends a restore that is not the last one that was begun.
var errOvertaken = errors.New("another restore into this NATS was begun after this one, which leaves all to it")

// marked is an error when the mark is not that of this restore any more. What is there then
// belongs to another restore, or to a fleet.
func (r *restorer) marked(ctx context.Context) error {
	stream, err := r.js.Stream(ctx, bus.RestoreStream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), err == nil && stream.CachedInfo().Config.Metadata[markID] != r.id:
		return errOvertaken
	case err != nil:
		return fmt.Errorf("look up stream %s: %w", bus.RestoreStream, err)
	}
	return nil
}

// fail is the error of a restore that has failed. It removes what that has made, the mark
// last, unless another restore has taken its place.
func (r *restorer) fail(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
	defer cancel()
	if err := r.marked(ctx); errors.Is(err, errOvertaken) {
		return errOvertaken
	}
	slices.Reverse(r.made)
	if err := remove(ctx, r.js, r.made); err != nil {
		return errors.Join(why, fmt.Errorf("remove what was restored: %w; run the restore again", err))
	}
	return why
}

// stream restores one stream.
func (r *restorer) stream(ctx context.Context, i int, s Stream) error {
	main, err := os.Open(filepath.Join(r.folder, s.File.Name))
	if err != nil {
		return err
	}
	defer main.Close()
	var late io.Reader
	if s.Late != nil {
		f, err := os.Open(filepath.Join(r.folder, s.Late.Name))
		if err != nil {
			return err
		}
		defer f.Close()
		late = f
	}
	config, err := restoredConfig(s.Config, r.opt.Replicas)
	if err != nil {
		return err
	}
	read, write := io.Pipe()
	rewritten := make(chan error, 1)
	go func() {
		err := rewrite(write, main, late, s)
		write.CloseWithError(err)
		rewritten <- err
	}()
	err = send(ctx, r.js, s.Name, config, s.State, &countingReader{read, func(n int) { r.progress(s.Name, i, n) }})
	read.CloseWithError(io.ErrClosedPipe)
	if wrong := <-rewritten; wrong != nil && !errors.Is(wrong, io.ErrClosedPipe) {
		return wrong
	}
	return explain(err)
}

func (r *restorer) progress(stream string, done, n int) {
	r.bytes += int64(n)
	if r.opt.Progress != nil {
		r.opt.Progress(Progress{stream, done, r.all, r.bytes})
	}
}

// explain adds to an error what helps.
func explain(err error) error {
	api, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case ok && (isOrNames(api, bus.CodeNoCluster) || isOrNames(api, bus.CodeNoPeers)):
		return fmt.Errorf("%w; this NATS has too few servers for its replicas: add --replicas 1, or name a cluster", err)
	case ok && api.ErrorCode == codeExists:
		return fmt.Errorf("%w: a host has started meanwhile; stop it, and run this again", err)
	}
	return err
}

// isOrNames reports whether an error is the one with this code, or a failed restore because
// of it.
func isOrNames(err *jetstream.APIError, code jetstream.ErrorCode) bool {
	return err.ErrorCode == code || strings.Contains(err.Description, fmt.Sprintf("(%d)", code))
}

// codeExists is the server's error code for a stream that is there.
const codeExists jetstream.ErrorCode = 10130

type countingReader struct {
	io.Reader
	count func(n int)
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.count(n)
	return n, err
}
