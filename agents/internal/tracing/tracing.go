// Package tracing carries the trace context of an input to all that is sent because of it.
package tracing

import (
	"regexp"
	"strings"

	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// A Context is the trace context of an input. The zero Context is empty.
type Context struct{ Parent, State string }

// Of is the trace of what answers inputs: that of the last.
func Of(inputs []run.Input) Context {
	if len(inputs) == 0 {
		return Context{}
	}
	last := &inputs[len(inputs)-1]
	return Context{last.Trace, last.State}
}

// In is the trace that a message came with. Propagators that were made for HTTP write the names
// with capitals, as Traceparent; NATS and its own tracing read either.
func In(h nats.Header) Context { return Context{valueOf(h, "traceparent"), valueOf(h, "tracestate")} }

// valueOf is the value of a header, whatever the case of its name; the name itself goes first.
func valueOf(h nats.Header, name string) string {
	if value := h.Get(name); value != "" {
		return value
	}
	for key := range h {
		if strings.EqualFold(key, name) {
			return h.Get(key)
		}
	}
	return ""
}

var (
	wellFormed = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?$`)
	ofNothing  = regexp.MustCompile(`^(ff|..-0{32}|..-.{32}-0{16})`) // no version, trace or span
)

// Outward is the trace for others than channels and agents. One that is no trace
// context stays here: no server may refuse a call for it.
func (t Context) Outward() Context {
	if t.Parent == "" || len(t.Parent) > 512 || !wellFormed.MatchString(t.Parent) || ofNothing.MatchString(t.Parent) {
		return Context{}
	}
	if len(t.State) > 512 || strings.ContainsFunc(t.State, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.State = ""
	}
	return t
}

// Set sets the headers of t.
func (t Context) Set(h nats.Header) {
	for _, one := range t.headers() {
		h[one.name] = []string{one.value}
	}
}

// Size is what the headers of t take of a message.
func (t Context) Size() (n int) {
	for _, one := range t.headers() {
		n += len(one.name) + len(": ") + len(one.value) + len("\r\n")
	}
	return n
}

// mostCarried is how long the trace may be that is carried through. JetStream stores headers of
// less than 64 KiB, and a message has others besides. A trace may lose its state on the way.
const mostCarried = 60 << 10

// headers are those that t sets.
func (t Context) headers() (list []header) {
	if n := len(t.Parent); n > 0 && n <= mostCarried {
		list = append(list, header{"traceparent", t.Parent})
	}
	if n := len(t.State); n > 0 && n+len(t.Parent) <= mostCarried {
		list = append(list, header{"tracestate", t.State})
	}
	return list
}

type header struct{ name, value string }
