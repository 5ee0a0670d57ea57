package pairing_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/internal/pairing"
	"agenthost/internal/waittest"

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

// A stranger whose notice could not be stored was told nothing, and is with the next message.
func TestNoticeThatIsNotStored(t *testing.T) {
	w := open(t)
	p, ok := w.Notice(stranger("42"), true)
	if !ok {
		t.Fatal("no notice")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if first, err := w.Index.Ask(ended, p); first || err == nil {
		t.Fatalf("Ask: first %t, %v", first, err)
	}
	if again := w.ask(t, "42"); again.Code == "" {
		t.Error("no code")
	}
}

// What is taken back for one agent counts for the others.
func TestRevokeOfOneAgent(t *testing.T) {
	w := open(t)
	var list []pairing.Pairing
	for _, agent := range []string{"ana", "ben"} {
		p := stranger("42")
		p.Agent = agent
		p, ok := w.Notice(p, true)
		if !ok {
			t.Fatalf("no notice of %s", agent)
		}
		if _, err := w.Index.Ask(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Approve(t.Context(), p.Code, "root"); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	waittest.Until(t, "both are known", func() bool { return w.Paired(list[0]) && w.Paired(list[1]) })
	if gone, err := w.Revoke(t.Context(), "ana", "telegram.sales/42"); err != nil || len(gone) != 1 || gone[0].Agent != "ana" {
		t.Fatalf("Revoke: %+v, %v", gone, err)
	}
	waittest.Until(t, "it is taken back", func() bool { return !w.Paired(list[0]) })
	if !w.Paired(list[1]) {
		t.Error("it was taken back for the other agent, too")
	}
}

// An approval is told when it is made, by hosts that run then, and not again by one that starts later.
func TestApprovalOfLongAgoIsNotTold(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := open(t)
		p := w.ask(t, "42")
		if _, err := w.Approve(t.Context(), p.Code, "root"); err != nil {
			t.Fatal(err)
		}
		<-w.approved
		time.Sleep(2 * time.Minute)
		other := index(t, w.Store, func(p pairing.Pairing) { t.Errorf("told of %+v", p) })
		if !other.Paired(p) {
			t.Error("not paired")
		}
	})
}

// An unanswered stores what is published, and its first answer is lost.
type unanswered struct {
	jetstream.JetStream
	lost *sync.Once
}

func (u unanswered) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	ack, err = u.JetStream.PublishMsg(ctx, msg, opts...)
	u.lost.Do(func() { ack, err = nil, context.DeadlineExceeded })
	return ack, err
}

// An approval counts also where the answer of NATS to the first step of it is lost: the code is used by then.
func TestApprovalWithoutAnAnswer(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	if _, err := pairing.NewStore(unanswered{w.js, &sync.Once{}}).Approve(t.Context(), p.Code, "root"); err != nil {
		t.Errorf("Approve: %v", err)
	}
	if other := index(t, w.Store, func(pairing.Pairing) {}); !other.Paired(p) {
		t.Error("not let in")
	}
}
