package records

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	// followPause is between two tries to follow a bucket.
	followPause = time.Second
	// lookEvery is how often it is looked whether a bucket was made again. It costs a request.
	lookEvery = 10 * time.Second
)

var (
	// errConnectedAgain ends a watch whose consumer may be gone with the server. The client
	// notices that by heartbeats that do not come, some ten seconds later.
	errConnectedAgain = errors.New("the connection was lost")
	// errMadeAgain ends a watch of a bucket that is gone. The client goes on in the new one behind
	// the sequence that it has come to in the old one, and so would not read what is written.
	errMadeAgain = errors.New("the bucket was deleted and made again")
)

// Follow hands every entry of a bucket to take, those that are there first,
// and then each change, until ctx ends. After a cut it starts over, and so it does when the
// bucket is deleted and made again: what was lost with it stays what take has made of it. Each time
// when take has had all that was there, it calls whole, if there is one.
func Follow(ctx context.Context, js jetstream.JetStream, bucket string, log zerolog.Logger, take func(jetstream.KeyValueEntry), whole func()) {
	f := following{js: js, bucket: bucket, log: log, take: take, whole: whole}
	f.run(ctx)
}

// Mirror is Follow that also hands out, as deleted, what was lost when the bucket was deleted and
// made again.
func Mirror(ctx context.Context, js jetstream.JetStream, bucket string, log zerolog.Logger, take func(jetstream.KeyValueEntry), whole func()) {
	f := following{js: js, bucket: bucket, log: log, whole: whole, there: map[string]bool{}}
	f.take = func(entry jetstream.KeyValueEntry) {
		if entry.Operation() == jetstream.KeyValuePut {
			f.there[entry.Key()] = true
		} else {
			delete(f.there, entry.Key())
		}
		take(entry)
	}
	f.run(ctx)
}

// A following is one Follow.
type following struct {
	js      jetstream.JetStream
	bucket  string
	log     zerolog.Logger
	take    func(jetstream.KeyValueEntry)
	whole   func()
	created time.Time       // when the bucket was made
	there   map[string]bool // the keys of the bucket; nil: they are not needed
}

func (f *following) run(ctx context.Context) {
	for back := false; ctx.Err() == nil; {
		err := f.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errConnectedAgain) {
			back = true
			continue
		}
		level := zerolog.WarnLevel
		if back { // JetStream may need a moment longer
			level, back = zerolog.DebugLevel, false
		}
		if errors.Is(err, errMadeAgain) {
			f.log.WithLevel(level).Str("bucket", f.bucket).Msg("follow bucket: it was deleted and made again")
			continue
		}
		f.log.WithLevel(level).Err(err).Str("bucket", f.bucket).Msg("follow bucket: failed; retrying")
		select {
		case <-ctx.Done():
		case <-time.After(followPause):
		}
	}
}

func (f *following) once(ctx context.Context) error {
	again := f.js.Conn().StatusChanged(nats.CONNECTED)
	defer f.js.Conn().RemoveStatusListener(again)
	kv, err := f.js.KeyValue(ctx, f.bucket)
	if err != nil {
		return err
	}
	if _, err := f.madeAgain(ctx); err != nil { // before the watch: what is made again later is seen
		return err
	}
	watch, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }() // the connection may be gone
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-again:
			if !open {
				return nats.ErrConnectionClosed
			}
			return errConnectedAgain
		case <-look.C:
			if again, err := f.madeAgain(ctx); again && err == nil { // else the next look finds it
				return errMadeAgain
			}
		case entry, open := <-watch.Updates():
			switch {
			case !open:
				return errors.New("the watch has ended")
			case entry != nil:
				f.take(entry)
			case f.whole != nil:
				f.whole()
			}
		}
	}
}

// madeAgain looks whether the bucket is another than the one that was seen before. Then what was
// in that is lost.
func (f *following) madeAgain(ctx context.Context) (again bool, err error) {
	stream, err := f.js.Stream(ctx, "KV_"+f.bucket)
	if err != nil {
		return false, err
	}
	created := stream.CachedInfo().Created
	again = !f.created.IsZero() && !created.Equal(f.created)
	f.created = created
	if again {
		for key := range f.there {
			f.take(lost{f.bucket, key, created})
		}
	}
	return again, nil
}

// A lost entry went with its bucket.
type lost struct {
	bucket, key string
	at          time.Time
}

func (l lost) Bucket() string                  { return l.bucket }
func (l lost) Key() string                     { return l.key }
func (l lost) Value() []byte                   { return nil }
func (l lost) Revision() uint64                { return 0 }
func (l lost) Created() time.Time              { return l.at }
func (l lost) Delta() uint64                   { return 0 }
func (l lost) Operation() jetstream.KeyValueOp { return jetstream.KeyValueDelete }
