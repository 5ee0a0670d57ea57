package bustest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrPlanted is wrapped by what a FailOnce returns.
var ErrPlanted = errors.New("planted")

// A FailOnce is a JetStream whose requests each fail once: so a test sees whether what makes them
// says so, and goes on the next time. What is read by a records.Reader does not fail.
type FailOnce struct {
	jetstream.JetStream
	Late bool // the request is carried out, and its answer lost
	// Only limits it to some requests, such as "Purge AGENT_ROUTES"; nil: all.
	Only func(request string) bool

	mu     sync.Mutex
	armed  bool
	failed []string
}

// Arm has the next request fail that has not failed yet.
func (f *FailOnce) Arm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
}

// Failed are the requests that have failed.
func (f *FailOnce) Failed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.failed)
}

func (f *FailOnce) fails(request string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed || slices.Contains(f.failed, request) || f.Only != nil && !f.Only(request) {
		return false
	}
	f.armed = false
	f.failed = append(f.failed, request)
	return true
}

func once[T any](f *FailOnce, request, of string, do func() (T, error)) (v T, err error) {
	request += " " + of
	if !f.fails(request) {
		return do()
	}
	if f.Late {
		v, _ = do()
	}
	return v, fmt.Errorf("%s: %w", request, ErrPlanted)
}

func onceDone(f *FailOnce, request, of string, do func() error) error {
	_, err := once(f, request, of, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// Publish and the other methods are those of a JetStream.
func (f *FailOnce) Publish(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return once(f, "Publish", subject, func() (*jetstream.PubAck, error) { return f.JetStream.Publish(ctx, subject, data, opts...) })
}

// PublishMsg may fail once for each subject.
func (f *FailOnce) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return once(f, "PublishMsg", msg.Subject, func() (*jetstream.PubAck, error) { return f.JetStream.PublishMsg(ctx, msg, opts...) })
}

// CreateStream may fail once for each stream.
func (f *FailOnce) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return once(f, "CreateStream", cfg.Name, func() (jetstream.Stream, error) { return f.JetStream.CreateStream(ctx, cfg) })
}

// UpdateStream may fail once for each stream and its subjects.
func (f *FailOnce) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	of := fmt.Sprint(cfg.Name, " ", cfg.Subjects)
	return once(f, "UpdateStream", of, func() (jetstream.Stream, error) { return f.JetStream.UpdateStream(ctx, cfg) })
}

// DeleteStream may fail once for each stream.
func (f *FailOnce) DeleteStream(ctx context.Context, name string) error {
	return onceDone(f, "DeleteStream", name, func() error { return f.JetStream.DeleteStream(ctx, name) })
}

// Stream may fail once for each stream, and so may what is asked of it.
func (f *FailOnce) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return once(f, "Stream", name, func() (jetstream.Stream, error) {
		stream, err := f.JetStream.Stream(ctx, name)
		return &failingStream{stream, f, name}, err
	})
}

// KeyValue may fail once for each bucket, and so may what is asked of it.
func (f *FailOnce) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	return once(f, "KeyValue", bucket, func() (jetstream.KeyValue, error) {
		kv, err := f.JetStream.KeyValue(ctx, bucket)
		return &failingBucket{kv, f, bucket}, err
	})
}

// ObjectStore may fail once for each bucket, and so may what is stored there.
func (f *FailOnce) ObjectStore(ctx context.Context, bucket string) (jetstream.ObjectStore, error) {
	return once(f, "ObjectStore", bucket, func() (jetstream.ObjectStore, error) {
		store, err := f.JetStream.ObjectStore(ctx, bucket)
		return &failingObjects{store, f, bucket}, err
	})
}

type failingStream struct {
	jetstream.Stream
	f    *FailOnce
	name string
}

func (s *failingStream) Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return once(s.f, "Info", s.name, func() (*jetstream.StreamInfo, error) { return s.Stream.Info(ctx, opts...) })
}

func (s *failingStream) ListConsumers(ctx context.Context) jetstream.ConsumerInfoLister {
	if err := onceDone(s.f, "ListConsumers", s.name, func() error { return nil }); err != nil {
		return noConsumers{err}
	}
	return s.Stream.ListConsumers(ctx)
}

func (s *failingStream) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return once(s.f, "CreateConsumer", s.name, func() (jetstream.Consumer, error) { return s.Stream.CreateConsumer(ctx, cfg) })
}

func (s *failingStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	return onceDone(s.f, "Purge", s.name, func() error { return s.Stream.Purge(ctx, opts...) })
}

func (s *failingStream) DeleteMsg(ctx context.Context, seq uint64) error {
	return onceDone(s.f, "DeleteMsg", s.name, func() error { return s.Stream.DeleteMsg(ctx, seq) })
}

func (s *failingStream) SecureDeleteMsg(ctx context.Context, seq uint64) error {
	return onceDone(s.f, "SecureDeleteMsg", s.name, func() error { return s.Stream.SecureDeleteMsg(ctx, seq) })
}

type noConsumers struct{ err error }

func (noConsumers) Info() <-chan *jetstream.ConsumerInfo {
	none := make(chan *jetstream.ConsumerInfo)
	close(none)
	return none
}

func (n noConsumers) Err() error { return n.err }

type failingBucket struct {
	jetstream.KeyValue
	f    *FailOnce
	name string
}

func (b *failingBucket) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	return once(b.f, "Create", b.name, func() (uint64, error) { return b.KeyValue.Create(ctx, key, value, opts...) })
}

func (b *failingBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return once(b.f, "Update", b.name, func() (uint64, error) { return b.KeyValue.Update(ctx, key, value, revision) })
}

func (b *failingBucket) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	return once(b.f, "Put", b.name, func() (uint64, error) { return b.KeyValue.Put(ctx, key, value) })
}

func (b *failingBucket) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	return onceDone(b.f, "Delete", b.name, func() error { return b.KeyValue.Delete(ctx, key, opts...) })
}

func (b *failingBucket) Purge(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	return onceDone(b.f, "Purge", b.name, func() error { return b.KeyValue.Purge(ctx, key, opts...) })
}

func (b *failingBucket) WatchFiltered(ctx context.Context, keys []string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	return once(b.f, "Watch", b.name, func() (jetstream.KeyWatcher, error) { return b.KeyValue.WatchFiltered(ctx, keys, opts...) })
}

func (b *failingBucket) Watch(ctx context.Context, keys string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	return once(b.f, "Watch", b.name, func() (jetstream.KeyWatcher, error) { return b.KeyValue.Watch(ctx, keys, opts...) })
}

type failingObjects struct {
	jetstream.ObjectStore
	f    *FailOnce
	name string
}

func (o *failingObjects) Put(ctx context.Context, meta jetstream.ObjectMeta, r io.Reader) (*jetstream.ObjectInfo, error) {
	return once(o.f, "Put", o.name, func() (*jetstream.ObjectInfo, error) { return o.ObjectStore.Put(ctx, meta, r) })
}

func (o *failingObjects) GetBytes(ctx context.Context, name string, opts ...jetstream.GetObjectOpt) ([]byte, error) {
	return once(o.f, "GetBytes", o.name, func() ([]byte, error) { return o.ObjectStore.GetBytes(ctx, name, opts...) })
}
