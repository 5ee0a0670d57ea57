package tracing

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"agenthost/run"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// Servers get no trace context that they could refuse a call for.
func TestOutward(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	tests := map[string]struct{ in, want Context }{
		"none":            {},
		"well formed":     {Context{parent, "a=1"}, Context{parent, "a=1"}},
		"of later times":  {Context{"01" + parent[2:] + "-more", ""}, Context{"01" + parent[2:] + "-more", ""}},
		"state alone":     {Context{"", "a=1"}, Context{}},
		"capitals":        {Context{strings.ToUpper(parent), ""}, Context{}},
		"trace of zeros":  {Context{"00-" + strings.Repeat("0", 32) + parent[35:], "a=1"}, Context{}},
		"span of zeros":   {Context{parent[:36] + strings.Repeat("0", 16) + "-01", "a=1"}, Context{}},
		"of no version":   {Context{"ff" + parent[2:], "a=1"}, Context{}},
		"too short":       {Context{parent[:40], "a=1"}, Context{}},
		"a line break":    {Context{parent + "\r\nX: 1", "a=1"}, Context{}},
		"too long":        {Context{parent + "-" + long, ""}, Context{}},
		"state too long":  {Context{parent, long}, Context{parent, ""}},
		"state of a line": {Context{parent, "a=1\nX: 1"}, Context{parent, ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.in.Outward()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What answers several inputs is in the trace of the last.
func TestOf(t *testing.T) {
	t.Parallel()
	if got := Of(nil); got != (Context{}) {
		t.Errorf("of nothing: got %+v", got)
	}
	if got := Of([]run.Input{{Trace: "first"}, {Trace: "last", State: "s"}}); got != (Context{"last", "s"}) {
		t.Errorf("got %+v", got)
	}
}

// Propagators that were made for HTTP write the names of headers with capitals.
func TestNamesInAnyCase(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]nats.Header{
		"as they are":  {"traceparent": {parent}, "tracestate": {"a=1"}},
		"of net/http":  {"Traceparent": {parent}, "Tracestate": {"a=1"}},
		"both":         {"traceparent": {parent}, "Traceparent": {"another"}, "tracestate": {"a=1"}, "TRACESTATE": {"b=2"}},
		"with another": {"Traceparent": {parent}, "Trace": {"x"}, "tracestate": {"a=1"}},
	} {
		if got := In(h); got != (Context{parent, "a=1"}) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got := In(nil); got != (Context{}) {
		t.Errorf("of nothing: got %+v", got)
	}
}

// What is too long for the headers of a message is not carried on.
func TestTooLongToCarry(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mostCarried)
	for name, tt := range map[string]struct {
		in   Context
		want []string
	}{
		"a state that fits":     {Context{parent, long[len(parent):]}, []string{"traceparent", "tracestate"}},
		"a state":               {Context{parent, long}, []string{"traceparent"}},
		"a parent that fits":    {Context{long, "a=1"}, []string{"traceparent"}},
		"a parent with nothing": {Context{long + "x", "a=1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := nats.Header{}
			tt.in.Set(h)
			size := 0
			for key := range h {
				size += len(key) + len(": \r\n") + len(h.Get(key))
			}
			if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(h))); diff != "" || size != tt.in.Size() {
				t.Errorf("%d bytes, counted %d: %s", size, tt.in.Size(), diff)
			}
		})
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	h := nats.Header{}
	Context{}.Set(h)
	if len(h) != 0 {
		t.Errorf("no trace sets %v", h)
	}
	Context{parent, "a=1"}.Set(h)
	if diff := cmp.Diff(nats.Header{"traceparent": {parent}, "tracestate": {"a=1"}}, h); diff != "" {
		t.Error(diff)
	}
}
