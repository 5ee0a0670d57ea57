package pairing

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// A flood of strangers is told something a thousand times, and again when the first of
// these is over. Another agent has its own count.
func TestFloodOfStrangers(t *testing.T) {
	x := NewIndex(nil, zerolog.Nop())
	stranger := func(agent string, n int) Pairing {
		return Pairing{Agent: agent, Channel: "web", From: fmt.Sprint(n)}
	}
	told, codes := 0, 0
	for n := range 5 * MostTold {
		if p, ok := x.Notice(stranger("ana", n), true); ok {
			told++
			if p.Code != "" {
				codes++
			}
		}
	}
	if told != MostTold || codes != MostOpen || len(x.asked["ana"]) != MostTold {
		t.Errorf("told %d, with %d codes, %d are kept", told, codes, len(x.asked["ana"]))
	}
	if _, ok := x.Notice(stranger("bob", 1), true); !ok {
		t.Error("another agent tells nobody")
	}
	x.drop(stranger("ana", 0).Key(), time.Time{})
	if _, ok := x.Notice(stranger("ana", 9999), true); !ok {
		t.Error("when one of them is gone nobody else is told")
	}
	for id, p := range x.asked["ana"] {
		p.Expires = time.Now().Add(-time.Second)
		x.asked["ana"][id] = p
	}
	clear(x.full)
	if p, ok := x.Notice(stranger("ana", 0), true); !ok || p.Code == "" || len(x.asked["ana"]) != 1 {
		t.Errorf("after the hour: %+v, %v, %d are kept", p, ok, len(x.asked["ana"]))
	}
}

// An agent that has told enough strangers tells the next one when the first of them is over, not earlier.
func TestFloodEndsWithTheFirstNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndex(nil, zerolog.Nop())
		tells := func(n int) bool {
			_, ok := x.Notice(Pairing{Agent: "ana", Channel: "web", From: fmt.Sprint(n)}, false)
			return ok
		}
		for n := range MostTold {
			if n == 1 {
				time.Sleep(10 * time.Minute)
			}
			if !tells(n) {
				t.Fatalf("stranger %d is told nothing", n)
			}
		}
		for _, tt := range []struct {
			sleep time.Duration
			want  bool
		}{{0, false}, {Valid - 10*time.Minute - 1, false}, {1, true}, {0, false}} {
			time.Sleep(tt.sleep)
			if got := tells(2 * MostTold); got != tt.want {
				t.Errorf("after %s more: told %t, want %t", tt.sleep, got, tt.want)
			}
		}
	})
}
