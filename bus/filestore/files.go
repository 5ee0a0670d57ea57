// Package filestore keeps what is too large for a message in an object store.
package filestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Store keeps what is too large for a message, under the SHA-256 of its
// content.
type Store struct {
	js     jetstream.JetStream
	reader *records.Reader
}

// New makes a Store on the bucket AGENT_FILES.
func New(js jetstream.JetStream) *Store { return &Store{js, records.NewReader(js)} }

// stream is the stream behind the bucket.
const stream = "OBJ_" + bus.FilesBucket

// The pauses between two tries.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

// Put stores data, unless it is there already, and returns its name. That NATS
// is away, or went away with what it had to answer, is waited for until ctx ends.
func (f *Store) Put(ctx context.Context, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	err := retry(ctx, func() error {
		err := f.put(ctx, name, data)
		if err != nil && !passes(err) && !bus.Refused(err) {
			return backoff.Permanent(err)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store file: %w", err)
	}
	return name, nil
}

// lentPrefix begins the names of files that are stored for a request alone.
const lentPrefix = "agenthost-lent-"

// lendWithin bounds what is still done for a file once it is too late to lend it.
const lendWithin = 30 * time.Second

// Lend stores data under a name of its own, until [Store.TakeBack]. What a host that died
// has lent is found by [Store.Left]. Where ctx ends before all is stored, it is stored all the
// same and taken back: what is left of a store that was broken off has no name to be found by.
func (f *Store) Lend(ctx context.Context, data []byte) (string, error) {
	name, stored := lentPrefix+rand.Text(), make(chan error)
	go func() {
		working, cancel := context.WithTimeout(context.WithoutCancel(ctx), lendWithin)
		defer cancel()
		err := f.lend(working, name, data)
		select {
		case stored <- err:
		case <-ctx.Done():
			_ = f.TakeBack(working, name) // else it is found as left
		}
	}()
	var err error
	select {
	case err = <-stored:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("lend file: %w", err)
	}
	return name, nil
}

func (f *Store) lend(ctx context.Context, name string, data []byte) error {
	store, err := f.js.ObjectStore(ctx, bus.FilesBucket)
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, bus.FileMeta(f.js.Conn(), name), bytes.NewReader(data))
	return err
}

// TakeBack deletes what Lend stored, without a trace: there may be many of them.
func (f *Store) TakeBack(ctx context.Context, name string) error {
	if err := f.Delete(ctx, name); err != nil {
		return err
	}
	s, err := f.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(abouts+base64.URLEncoding.EncodeToString([]byte(name))))
	}
	if err != nil {
		return fmt.Errorf("delete file %s: %w", name, err)
	}
	return nil
}

// retry calls do until it succeeds, returns a backoff.Permanent error, or ctx ends.
func retry(ctx context.Context, do func() error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval, pauses.Multiplier = retryFirst, retryMost, 2
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, do() },
		backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0))
	return err
}

// put tries once, with a second for each megabyte.
func (f *Store) put(ctx context.Context, name string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout+time.Second*time.Duration(len(data)>>20))
	defer cancel()
	store, err := f.js.ObjectStore(ctx, bus.FilesBucket)
	if err != nil {
		return err
	}
	rec, err := f.about(ctx, name)
	if err == nil && rec.Header.Get(leftHeader) != "" {
		_, err = f.write(ctx, rec, nil, nats.MsgRollupSubject)
		return err
	}
	if !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	_, err = store.Put(ctx, bus.FileMeta(f.js.Conn(), name), bytes.NewReader(data))
	return err
}

// info is what the bucket says of a file.
func (f *Store) info(ctx context.Context, name string) (info jetstream.ObjectInfo, err error) {
	rec, err := f.about(ctx, name)
	if err == nil {
		err = json.Unmarshal(rec.Data, &info)
	}
	return info, err
}

// The subjects of what the bucket says of files, and of their content.
const (
	abouts = "$O." + bus.FilesBucket + ".M."
	chunks = "$O." + bus.FilesBucket + ".C."
)

// about is the message that says of a file that it is there. It is read where no copy
// that lags is believed: a file that was deleted must not count as stored.
func (f *Store) about(ctx context.Context, name string) (records.Record, error) {
	rec, err := f.reader.Last(ctx, stream, abouts+base64.URLEncoding.EncodeToString([]byte(name)))
	if errors.Is(err, records.ErrNotFound) {
		return rec, jetstream.ErrObjectNotFound
	}
	if err != nil {
		return rec, err
	}
	said := struct{ Deleted bool }{}
	if err = json.Unmarshal(rec.Data, &said); err == nil && said.Deleted {
		err = jetstream.ErrObjectNotFound
	}
	return rec, err
}

// passes reports whether err is of a NATS that is away or has no room.
func passes(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return bus.Transient(api)
	}
	for _, e := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, jetstream.ErrAsyncPublishTimeout,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ErrTooLarge is wrapped when a file is larger than its reader accepts.
var ErrTooLarge = errors.New("it is too large")

// GetWithin reads a file of at most limit bytes.
func (f *Store) GetWithin(ctx context.Context, name string, limit uint64) ([]byte, error) {
	info, err := f.info(ctx, name)
	if err == nil && info.Size > limit {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read file %s: %w", name, err)
	}
	return f.Get(ctx, name)
}

// Get reads what Put stored.
func (f *Store) Get(ctx context.Context, name string) (data []byte, err error) {
	err = f.complete(ctx, name, func(store jetstream.ObjectStore) (err error) {
		data, err = store.GetBytes(ctx, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read file %s: %w", name, err)
	}
	return data, nil
}

// Delete deletes what Put stored; what is not there is deleted already.
func (f *Store) Delete(ctx context.Context, name string) error {
	err := f.complete(ctx, name, func(store jetstream.ObjectStore) error { return store.Delete(ctx, name) })
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("delete file %s: %w", name, err)
	}
	return nil
}

// complete calls do again, until ctx ends, while it does not find a file that is
// there: a copy of the bucket lags. A copy that still has a file that is gone
// makes do wait for its content in vain.
func (f *Store) complete(ctx context.Context, name string, do func(jetstream.ObjectStore) error) error {
	return retry(ctx, func() error {
		store, err := f.js.ObjectStore(ctx, bus.FilesBucket)
		if err == nil {
			err = do(store)
		}
		if err == nil {
			return nil
		}
		notFound := errors.Is(err, jetstream.ErrObjectNotFound)
		if !notFound && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) { // whichever of two clocks was first
			return backoff.Permanent(err)
		}
		if _, missing := f.info(ctx, name); missing != nil {
			return backoff.Permanent(missing)
		}
		if !notFound {
			return backoff.Permanent(err)
		}
		return err
	})
}
