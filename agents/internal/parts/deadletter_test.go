package parts

import (
	"errors"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// The letters of a host tell when, and in which trace, and can be sent again.
func TestLettersOfAHost(t *testing.T) {
	t.Parallel()
	p := New(Options{Host: "kiwi", MaxPayload: 1 << 20})
	traced := nats.Header{"traceparent": {"p"}, "tracestate": {"s"}}
	for name, letter := range map[string]bus.DeadLetter{
		"poison": p.Letter("ana", run.Input{ID: "1", Subject: "plugin.inbound.web", Seq: 7, Envelope: []byte(`{"text":"x"}`), Trace: "p", State: "s"}, "it failed", llm.CodeInternal, 5),
		"reply":  p.Undeliverable("ana", &run.Reply{ID: "r.1", Subject: "plugin.outbound.web", Envelope: []byte(`{"text":"x"}`)}, traced, errors.New("too large")),
	} {
		if age := time.Since(letter.At); age < 0 || age > time.Minute {
			t.Errorf("%s: it is of %s", name, letter.At)
		}
		if diff := cmp.Diff(traced, letter.Header); diff != "" || letter.Host != "kiwi" || letter.Payload != `{"text":"x"}` {
			t.Errorf("%s: got %+v: %s", name, letter, diff)
		}
	}
}
