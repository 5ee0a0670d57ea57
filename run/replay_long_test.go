//go:build long

package run_test

import (
	"fmt"
	"testing"

	"agenthost/run"
)

func TestReplayOfAnyLog(t *testing.T) {
	sessions := 200
	if testing.Short() {
		sessions = 60
	}
	for seed := range uint64(sessions) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := disorder(t, seed)
			for _, end := range []int{len(s.log), s.commits[len(s.commits)/2]} {
				got, err := run.Replay(s.log[:end])
				if err != nil {
					t.Fatal(err)
				}
				if got, want := encode(t, got), encode(t, replay(t, s.log[:end])); got != want {
					t.Errorf("state\n got %s\nwant %s", got, want)
				}
			}
		})
	}
}
