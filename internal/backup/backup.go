// Package backup copies all that a fleet keeps in NATS into a folder, while its hosts
// work, and puts it into an empty NATS again.
//
// A backup holds the streams as the server's own snapshots, with their sequences, and the
// consumers of hosts and plugins. Its moment is the time it began: all that was stored by
// then is in it. The order in which streams are copied, and what is noted first, make a
// restored fleet one whose hosts have all died at that moment; see order.
package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// Options are for Write and Restore. The zero Options are usable.
type Options struct {
	Version  string // of this program, for the manifest
	Replicas int    // Restore: of the streams; 0: as they had
	// Progress is called from time to time; nil: it is of no interest.
	Progress func(Progress)
}

// Progress is how far a backup or a restore is.
type Progress struct {
	Stream string // in progress
	Done   int    // streams
	All    int
	Bytes  int64 // of the files, so far
}

// A writer writes one backup.
type writer struct {
	js      jetstream.JetStream
	reader  *records.Reader
	folder  string
	opt     Options
	done    int
	bytes   int64
	written []string // names of files
}

var errNoFolder = errors.New("name the folder of the backup")

// Write writes a backup into folder, which has to be empty or not to be there. When it
// fails it removes what it has written.
func Write(ctx context.Context, js jetstream.JetStream, folder string, opt Options) (Manifest, error) {
	if folder == "" {
		return Manifest{}, errNoFolder
	}
	w := &writer{js: js, reader: records.NewReader(js), folder: folder, opt: opt}
	if err := oldServer(js); err != nil {
		return Manifest{}, err
	}
	made, err := makeFolder(folder)
	if err != nil {
		return Manifest{}, err
	}
	m, err := w.write(ctx)
	if err != nil {
		return Manifest{}, errors.Join(err, w.remove(made))
	}
	return m, nil
}

func (w *writer) write(ctx context.Context) (Manifest, error) {
	if _, err := w.js.Stream(ctx, bus.UpgradeStream); err == nil {
		return Manifest{}, errors.New("the streams are being upgraded; wait until the host that does it is ready")
	}
	moment, floors, err := w.positions(ctx)
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Kind: kind, Format: format, Version: w.opt.Version, Server: w.js.Conn().ConnectedServerVersion(), Moment: moment,
	}
	for _, step := range order {
		s, err := w.copy(ctx, step)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			w.done++
			continue // an older version has no such stream
		}
		if err != nil {
			return Manifest{}, fmt.Errorf("copy stream %s: %w", step.stream, err)
		}
		s.Floors = floors[step.stream]
		m.Streams = append(m.Streams, s)
	}
	if err := w.finish(ctx, &m); err != nil {
		return Manifest{}, err
	}
	m.Finished = time.Now().UTC()
	return m, w.seal(&m)
}

// positions are where the lanes of the fleet are, and the time by the clock of the server
// when it said so. What a lane has acknowledged by then is in the copies that follow.
func (w *writer) positions(ctx context.Context) (moment time.Time, floors map[string]map[string]Floor, err error) {
	floors = map[string]map[string]Floor{}
	for _, name := range bus.LaneStreams() {
		stream, err := w.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && name == bus.SchedulesStream {
			continue // an older version has none
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return moment, nil, fmt.Errorf("there is no stream %s: no fleet has run on this NATS; is --server right?", name)
		}
		if err != nil {
			return moment, nil, fmt.Errorf("look up stream %s: %w", name, err)
		}
		if at := stream.CachedInfo().TimeStamp; moment.IsZero() || at.Before(moment) {
			moment = at
		}
		if floors[name], err = floorsOf(ctx, stream); err != nil {
			return moment, nil, fmt.Errorf("stream %s: list consumers: %w", name, err)
		}
	}
	return moment.UTC(), floors, nil
}

// finish adds what had to wait until all streams were copied.
func (w *writer) finish(ctx context.Context, m *Manifest) error {
	for i := range m.Streams {
		s := &m.Streams[i]
		step := stepOf(s.Name)
		if step.tail {
			if err := w.copyTail(ctx, s); err != nil {
				return fmt.Errorf("copy what came to stream %s meanwhile: %w", s.Name, err)
			}
		}
		if step.named {
			stream, err := w.js.Stream(ctx, s.Name)
			if err != nil {
				return fmt.Errorf("look up stream %s: %w", s.Name, err)
			}
			s.LastSeq = max(s.LastSeq, stream.CachedInfo().State.LastSeq)
		}
	}
	return nil
}

// progress reports that n more bytes of a stream are written.
func (w *writer) progress(stream string, n int) {
	w.bytes += int64(n)
	if w.opt.Progress != nil {
		w.opt.Progress(Progress{stream, w.done, len(order), w.bytes})
	}
}

// makeFolder makes a folder that has nothing in it; made: it was not there.
func makeFolder(folder string) (made bool, err error) {
	list, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, os.MkdirAll(folder, 0o700)
	case err != nil:
		return false, err
	case len(list) > 0:
		return false, fmt.Errorf("folder %q is not empty: name one that is, or one that does not exist", folder)
	}
	return false, nil
}

// remove removes what a backup that failed has written.
func (w *writer) remove(folder bool) error {
	var errs []error
	for _, name := range w.written {
		if err := os.Remove(filepath.Join(w.folder, name)); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if folder {
		errs = append(errs, os.Remove(w.folder))
	}
	return errors.Join(errs...)
}
