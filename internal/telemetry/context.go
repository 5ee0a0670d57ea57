package telemetry

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

type (
	traceID [16]byte
	spanID  [8]byte
)

// A parent is what a traceparent says.
type parent struct {
	trace   traceID
	span    spanID
	sampled bool
}

// parse reads a traceparent; ok is false if it is malformed, by the rule of what goes to models
// and services.
func parse(text string) (p parent, ok bool) {
	if len(text) < 55 || text[:55] != strings.ToLower(text[:55]) || text[2] != '-' || text[35] != '-' || text[52] != '-' || len(text) > 55 && text[55] != '-' || text[:2] == "ff" {
		return p, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		into []byte
		text string
	}{{version[:], text[:2]}, {p.trace[:], text[3:35]}, {p.span[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return p, false
		}
	}
	p.sampled = flags[0]&1 == 1
	return p, p.trace != traceID{} && p.span != spanID{}
}

// stateOf is a tracestate as it came, or nothing if it is malformed: the rule is that for what
// goes to models and services.
func stateOf(text string) string {
	if len(text) > 512 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return text
}

func (p parent) String() string {
	flags := 0
	if p.sampled {
		flags = 1
	}
	return fmt.Sprintf("00-%x-%x-%02x", p.trace[:], p.span[:], flags)
}

// Ids follow from what they are of, so that every host finds the same ones.

func spanOf(kind, id string) (s spanID) {
	sum := sha256.Sum256([]byte(kind + "\x00" + id))
	copy(s[:], sum[:])
	return s
}

// spanOfInput is of a message at one of the agents that take it.
func spanOfInput(agent, subject string, seq uint64) spanID {
	return spanOf("input", fmt.Sprint(agent, " ", subject, " ", seq))
}

func traceOf(what string, at time.Time) (t traceID) {
	sum := sha256.Sum256(fmt.Append(nil, what, " ", at.UnixNano()))
	copy(t[:], sum[:])
	return t
}

// A sampler decides which traces are exported.
type sampler struct {
	byParent bool    // as the message that comes with a trace says
	share    float64 // of the others
}

// begins decides for a trace that begins here.
func (s sampler) begins(t traceID) bool {
	const bits = 1 << 63
	return float64(binary.BigEndian.Uint64(t[8:])>>1) < s.share*bits
}

// begin begins a trace.
func (s sampler) begin(t traceID) parent { return parent{trace: t, sampled: s.begins(t)} }

// takes decides for a trace that a message came with.
func (s sampler) takes(p parent) bool {
	if s.byParent {
		return p.sampled
	}
	return s.begins(p.trace)
}
