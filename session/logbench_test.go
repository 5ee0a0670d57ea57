package session_test

import (
	"context"
	"testing"
)

// A session of a hundred turns: a snapshot and what came since.
func BenchmarkOpen(b *testing.B) {
	bus, s := open(b)
	d := watchSnapshots(b, bus, s)
	c := openTalk(b, s)
	for range 127 {
		c.turn()
	}
	d.next()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Open(context.Background(), "bot", ana); err != nil {
			b.Fatal(err)
		}
	}
}

// One turn after the other: each is a commit that is awaited.
func BenchmarkCommit(b *testing.B) {
	_, s := open(b)
	c := openTalk(b, s)
	b.ReportAllocs()
	for b.Loop() {
		c.turn()
	}
}
