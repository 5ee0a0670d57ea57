package plugins

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// arrived is a reply as NATS brings it.
type arrived struct {
	jetstream.Msg
	data []byte
}

func (a *arrived) Data() []byte         { return a.data }
func (a *arrived) Headers() nats.Header { return nil }
func (a *arrived) Subject() string      { return "plugin.outbound.test" }
func (a *arrived) Reply() string        { return "$JS.ACK.1" }
func (a *arrived) InProgress() error    { return nil }

// Of a reply that is more than is held nothing but its place in the stream stays in memory.
func TestRepliesThatAreNotHeldTakeNoMemory(t *testing.T) {
	SetMostHeldBytes(t, 0)
	e, _, _ := owning(t)
	o := e.term.outbox
	o.waitForOlder() // so that none is delivered
	freed := make(chan struct{})
	func() {
		m := &arrived{data: []byte(`{"id":"1","to":"ana","text":"` + strings.Repeat("x", 1000) + `"}`)}
		runtime.AddCleanup(m, func(int) { close(freed) }, 0)
		o.take(m, &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: 1}, Timestamp: time.Now()})
	}()
	if n, _ := o.waiting(); n != 1 {
		t.Fatalf("%d replies wait, want 1", n)
	}
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			runtime.KeepAlive(o)
			return
		case <-time.After(10 * time.Millisecond): // cleanups run beside
		}
	}
	t.Error("the message is kept whole")
}
