package memnats

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Headers that mean something to a stream, or that it writes.
const (
	pinHeader      = "Nats-Pin-Id"
	msgIDHeader    = "Nats-Msg-Id"
	expectedHeader = "Nats-Expected-Last-Subject-Sequence"
	rollupHeader   = "Nats-Rollup"
	scheduleHeader = "Nats-Schedule"
	targetHeader   = "Nats-Schedule-Target"
)

const headerLine = "NATS/1.0\r\n"

// header is the value of a header of a message as it is on the wire.
func header(raw []byte, key string) (string, bool) {
	for line := range bytes.SplitSeq(raw, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && string(name) == key {
			return string(bytes.TrimSpace(value)), true
		}
	}
	return "", false
}

// withHeaders adds headers to those of a message.
func withHeaders(raw []byte, pairs ...string) []byte {
	b := []byte(headerLine)
	if len(raw) > 0 {
		b = bytes.Clone(bytes.TrimSuffix(raw, []byte("\r\n")))
	}
	for i := 0; i < len(pairs); i += 2 {
		b = append(b, pairs[i]+": "+pairs[i+1]+"\r\n"...)
	}
	return append(b, "\r\n"...)
}

// withoutHeaders is a message's headers without those whose names have one of prefixes.
func withoutHeaders(raw []byte, prefixes ...string) []byte {
	var b strings.Builder
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\r\n\r\n"), "\r\n") {
		if !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
			b.WriteString(line + "\r\n")
			n++
		}
	}
	if n < 2 {
		return nil
	}
	return []byte(b.String() + "\r\n")
}

// status is a message without data that tells how a request ends.
func status(code int, words string, pairs ...string) []byte {
	b := fmt.Appendf(nil, "NATS/1.0 %d %s\r\n", code, words)
	for i := 0; i < len(pairs); i += 2 {
		b = append(b, pairs[i]+": "+pairs[i+1]+"\r\n"...)
	}
	return append(b, "\r\n"...)
}

// matches reports whether a subject matches a pattern.
func matches(pattern, subject string) bool {
	if pattern == subject {
		return true
	}
	for {
		p, morePattern, pMore := strings.Cut(pattern, ".")
		if p == ">" {
			return true
		}
		t, moreSubject, tMore := strings.Cut(subject, ".")
		if p != "*" && p != t || pMore != tMore {
			return false
		}
		if !pMore {
			return true
		}
		pattern, subject = morePattern, moreSubject
	}
}
