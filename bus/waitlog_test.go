package bus_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

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
