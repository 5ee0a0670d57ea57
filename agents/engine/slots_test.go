package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"agenthost/bus"
)

// An agent has at most limits.concurrency runs at once. The others wait in their order,
// and each that ends makes room for one.
func TestRunsAtOnceAreLimited(t *testing.T) {
	const limit, people = 2, 5
	inCrashWorld(t, func(w *crashWorld) {
		for i := range people {
			text := fmt.Sprintf("m%02d", i)
			w.model.hold(text)
			data, err := json.Marshal(bus.Inbound{ID: text, From: fmt.Sprintf("p%d", i), Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.js.Publish(w.t.Context(), "plugin.inbound.ana", data); err != nil {
				t.Fatal(err)
			}
		}
		for ended := range people {
			w.pass()
			for i := range people {
				want := 0
				if i < ended+limit {
					want = 1
				}
				if got := w.model.called(fmt.Sprintf("m%02d", i)); got != want {
					t.Fatalf("with %d runs ended, run %d has called the model %d times, want %d", ended, i, got, want)
				}
			}
			w.model.release(fmt.Sprintf("m%02d", ended))
		}
		w.wantReplies(messages(0, people)...)
	}, func(a *actor) { a.cfg.Limits.Concurrency = limit })
}
