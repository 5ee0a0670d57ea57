//go:build long

package erase_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/erase"
	"agenthost/internal/erasure"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

// What NATS refuses in an erasure is an error of it, and so is an answer that is lost: no person is
// told that all is erased while it is not. The next run goes on with what the one before has found.
func TestRunWhereEachRequestFailsOnce(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"refused": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			theirs, others := zoesAndOthers()
			w.put(others...)
			want, _ := w.left()
			w.put(theirs...)
			w.put(`agent.session.ana.` + session.SID("ana", "irc.x/dm/zoe-1") + ` {"v":1,"key":"irc.x/dm/zoe-1"}`)
			// Each run that fails has a journal of its own, with subjects that no run before had.
			ofJournals := 0
			f := &bustest.FailOnce{JetStream: w.js, Late: late, Only: func(request string) bool {
				if !strings.HasPrefix(request, "PublishMsg $O."+bus.FilesBucket+".M.") {
					return true
				}
				ofJournals++
				return ofJournals <= 3
			}}
			for again := true; again; {
				before := len(f.Failed())
				f.Arm()
				_, err := erase.Run(t.Context(), f, noHosts{}, erase.Options{Person: erasure.Person{Place: "irc.x", From: "zoe-1"}})
				if again = len(f.Failed()) > before; again != errors.Is(err, bustest.ErrPlanted) || !again && err != nil {
					t.Fatalf("got %v, and these have failed: %q", err, f.Failed())
				}
			}
			if n := len(f.Failed()); n < 20 {
				t.Errorf("only %d have failed: %q", n, f.Failed())
			}
			got, all := w.left()
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" || bytes.Contains(all, []byte(secret)) {
				t.Errorf("what is left: %s", diff)
			}
		})
	}
}
