package senders_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/agents/internal/senders"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestLimiterTakes(t *testing.T) {
	rate := senders.Rate{Messages: 3, Per: 30 * time.Second}
	l := &senders.Limiter{}
	want := []struct {
		after, at time.Duration
		owed      bool
	}{
		{0, 0, false},
		{0, 0, false},
		{0, 0, false},
		{0, 10 * time.Second, false},
		{0, 20 * time.Second, true},
		{time.Second, 30 * time.Second, true},
		{35 * time.Second, 40 * time.Second, false},
		{10 * time.Minute, 10 * time.Minute, false},
	}
	for i, w := range want {
		at, owed := l.Take("ana", rate, noon.Add(w.after))
		if got := at.Sub(noon); got != w.at || owed != w.owed {
			t.Errorf("message %d: at %s, owed %t; want %s, %t", i, got, owed, w.at, w.owed)
		}
	}
	if at, _ := l.Take("ben", rate, noon); !at.Equal(noon) {
		t.Errorf("another sender waits until %s", at)
	}
}

func TestLimiterAllows(t *testing.T) {
	rate := senders.Rate{Messages: 2, Per: time.Minute}
	l := &senders.Limiter{}
	want := []struct {
		after time.Duration
		ok    bool
	}{{0, true}, {0, true}, {0, false}, {29 * time.Second, false}, {30 * time.Second, true}, {31 * time.Second, false}, {time.Hour, true}}
	for i, w := range want {
		if got := l.Allow("ana", rate, noon.Add(w.after)); got != w.ok {
			t.Errorf("message %d: %t, want %t", i, got, w.ok)
		}
	}
}

// Senders that owe nothing take no memory for long.
func TestLimiterForgets(t *testing.T) {
	rate := senders.Rate{Messages: 1, Per: time.Second}
	l := &senders.Limiter{}
	for i := range 100_000 {
		l.Take(fmt.Sprint(i), rate, noon.Add(time.Duration(i)*time.Second))
	}
	if n := l.Len(); n > 4096 {
		t.Errorf("%d senders are remembered", n)
	}
}
