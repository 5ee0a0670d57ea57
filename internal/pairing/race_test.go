package pairing_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"agenthost/internal/pairing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A meanwhile does something else right before the bucket is changed.
type meanwhile struct {
	jetstream.JetStream
	do func()
}

func (m meanwhile) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	kv, err := m.JetStream.KeyValue(ctx, bucket)
	return meanwhileKV{kv, m.do}, err
}

func (m meanwhile) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	m.do()
	return m.JetStream.PublishMsg(ctx, msg, opts...)
}

// A failing fails to change the bucket by key.
type failing struct{ jetstream.JetStream }

func (f failing) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	kv, err := f.JetStream.KeyValue(ctx, bucket)
	return failingKV{kv}, err
}

type failingKV struct{ jetstream.KeyValue }

var errFull = errors.New("the disk is full")

func (failingKV) Put(context.Context, string, []byte) (uint64, error) { return 0, errFull }

type meanwhileKV struct {
	jetstream.KeyValue
	do func()
}

func (m meanwhileKV) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	m.do()
	return m.KeyValue.Put(ctx, key, value)
}

// Of two operators who settle one code at the same time the first decides: an approval that
// comes second lets in no sender, and says that the code is used.
func TestApprovalBehindADenial(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	var once sync.Once
	slow := pairing.NewStore(meanwhile{w.js, func() {
		once.Do(func() {
			if _, err := w.Deny(t.Context(), p.Code); err != nil {
				t.Errorf("Deny: %v", err)
			}
		})
	}})
	if got, err := slow.Approve(t.Context(), p.Code, "root"); !errors.Is(err, pairing.ErrNoCode) {
		t.Errorf("Approve: %+v, %v, want %v", got, err, pairing.ErrNoCode)
	}
	if other := index(t, w.Store, func(pairing.Pairing) {}); other.Paired(p) {
		t.Error("the person whom the first operator denied is let in")
	}
}

// A code whose approval could not be stored lets in no sender, and can be approved again.
func TestApprovalThatIsNotStored(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	if _, err := pairing.NewStore(failing{w.js}).Approve(t.Context(), p.Code, "root"); !errors.Is(err, errFull) {
		t.Errorf("Approve: %v, want %v", err, errFull)
	}
	if other := index(t, w.Store, func(pairing.Pairing) {}); other.Paired(p) {
		t.Error("let in without an approval")
	}
	if _, err := w.Approve(t.Context(), p.Code, "root"); err != nil {
		t.Errorf("Approve again: %v", err)
	}
}
