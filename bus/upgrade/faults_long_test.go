//go:build long

package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// What NATS refuses in an upgrade is an error of it, and so is an answer that is lost: the host
// that tries again goes on from there.
func TestUpgradeWhereEachRequestFailsOnce(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"refused": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js := bustest.Open(t).JS
			oldRoutes(t, js)
			f := &faults{JetStream: js, late: late, failed: map[string]bool{}}
			for again := true; again; {
				before := len(f.failed)
				f.armed = true
				err := streams.Provision(t.Context(), f, 1, 4, zerolog.Nop())
				if again = len(f.failed) > before; again != errors.Is(err, errPlanted) || !again && err != nil {
					t.Fatalf("got %v, and these have failed: %v", err, f.failed)
				}
			}
			if len(f.failed) < 20 {
				t.Errorf("only these have failed: %v", f.failed)
			}
			wantUpgraded(t, js)
		})
	}
}

var errPlanted = errors.New("planted")

// faults has each request of an upgrade fail once, when it is armed.
type faults struct {
	jetstream.JetStream
	late bool // it is carried out all the same

	mu     sync.Mutex
	armed  bool // until one fails
	failed map[string]bool
}

func once[T any](f *faults, request, of string, do func() (T, error)) (v T, err error) {
	name := request + " " + of
	f.mu.Lock()
	fails := f.armed && !f.failed[name]
	if fails {
		f.armed, f.failed[name] = false, true
	}
	f.mu.Unlock()
	if !fails {
		return do()
	}
	if f.late {
		v, _ = do()
	}
	return v, fmt.Errorf("%s: %w", name, errPlanted)
}

func onceDone(f *faults, request, of string, do func() error) error {
	_, err := once(f, request, of, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (f *faults) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	return once(f, "KeyValue", bucket, func() (jetstream.KeyValue, error) { return f.JetStream.KeyValue(ctx, bucket) })
}

func (f *faults) Publish(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return once(f, "Publish", subject, func() (*jetstream.PubAck, error) { return f.JetStream.Publish(ctx, subject, data, opts...) })
}

func (f *faults) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return once(f, "PublishMsg", msg.Subject, func() (*jetstream.PubAck, error) { return f.JetStream.PublishMsg(ctx, msg, opts...) })
}

func (f *faults) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	if cfg.Name != bus.RoutesStream && cfg.Name != bus.UpgradeStream {
		return f.JetStream.CreateStream(ctx, cfg)
	}
	return once(f, "CreateStream", cfg.Name, func() (jetstream.Stream, error) { return f.JetStream.CreateStream(ctx, cfg) })
}

func (f *faults) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return once(f, "UpdateStream", fmt.Sprint(cfg.Name, cfg.Subjects), func() (jetstream.Stream, error) { return f.JetStream.UpdateStream(ctx, cfg) })
}

func (f *faults) DeleteStream(ctx context.Context, name string) error {
	return onceDone(f, "DeleteStream", name, func() error { return f.JetStream.DeleteStream(ctx, name) })
}

func (f *faults) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if name != bus.RoutesStream && name != bus.UpgradeStream {
		return f.JetStream.Stream(ctx, name)
	}
	return once(f, "Stream", name, func() (jetstream.Stream, error) {
		stream, err := f.JetStream.Stream(ctx, name)
		return &streamFaults{stream, f, name}, err
	})
}

type streamFaults struct {
	jetstream.Stream
	faults *faults
	name   string
}

func (s *streamFaults) ListConsumers(ctx context.Context) jetstream.ConsumerInfoLister {
	if err := onceDone(s.faults, "ListConsumers", s.name, func() error { return nil }); err != nil {
		return noConsumers{err}
	}
	return s.Stream.ListConsumers(ctx)
}

func (s *streamFaults) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return once(s.faults, "CreateConsumer", s.name, func() (jetstream.Consumer, error) { return s.Stream.CreateConsumer(ctx, cfg) })
}

func (s *streamFaults) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	return onceDone(s.faults, "Purge", s.name, func() error { return s.Stream.Purge(ctx, opts...) })
}

func (s *streamFaults) DeleteMsg(ctx context.Context, seq uint64) error {
	return onceDone(s.faults, "DeleteMsg", s.name, func() error { return s.Stream.DeleteMsg(ctx, seq) })
}

type noConsumers struct{ err error }

func (noConsumers) Info() <-chan *jetstream.ConsumerInfo {
	none := make(chan *jetstream.ConsumerInfo)
	close(none)
	return none
}

func (n noConsumers) Err() error { return n.err }
