package bus_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// What a server explains in several ways is one reason.
func TestWaitLogOfAServersError(t *testing.T) {
	t.Parallel()
	log := &bytes.Buffer{}
	waiting := bus.WaitLog{Log: zerolog.New(log)}
	for _, why := range []string{"no suitable peers, peer offline", "no suitable peers, miscellaneous issue"} {
		waiting.Say(fmt.Errorf("make stream: %w", &jetstream.APIError{Code: 400, ErrorCode: 10005, Description: why}), "waiting")
	}
	if n := strings.Count(log.String(), "waiting"); n != 1 {
		t.Errorf("said %d times: %s", n, log)
	}
	waiting.Say(fmt.Errorf("make stream: %w", &jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "away"}), "waiting")
	if n := strings.Count(log.String(), "waiting"); n != 2 {
		t.Errorf("another error is said as the %d. line, want the second: %s", n, log)
	}
}

func TestWaitLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		waiting := bus.WaitLog{Log: zerolog.New(log)}
		for n := range 5 * 60 * 10 { // ten tries a second for five minutes, of which every third fails in another way
			if n%3 == 1 {
				waiting.Say(errors.New("no answer"), "waiting")
			} else {
				waiting.Say(errors.New("no leader"), "waiting")
			}
			time.Sleep(100 * time.Millisecond)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		got := map[string]int{"lines": len(lines), "no answer": strings.Count(log.String(), "no answer"), "no leader": strings.Count(log.String(), "no leader")}
		if diff := cmp.Diff(map[string]int{"lines": 9, "no answer": 1, "no leader": 1}, got); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, log)
		}
	})
}
