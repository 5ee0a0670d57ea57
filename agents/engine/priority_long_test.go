//go:build long

package engine_test

import (
	"testing"
	"time"
)

// What has priority stops the run that is under way, and none of those that waited then, also where
// the rate of its sender has it wait: then it goes when the first of those was to go.
func TestPriorityOverTheRate(t *testing.T) {
	tests := map[string]struct {
		follow func(w *crashWorld)
		want   []string
	}{
		"the run lasts": {func(w *crashWorld) {
			time.Sleep(30 * time.Second)
			if said := w.said(); len(said) > 0 {
				w.t.Errorf("said %q before the rate has room", said)
			}
			time.Sleep(40 * time.Second)
		}, []string{"first=Stopped", "NOW=NOW", "L=L", "x=x", "y=y"}},
		"the run ends before": {func(w *crashWorld) {
			w.model.release("first")
		}, []string{"first=first", "NOW=NOW", "L=L", "x=x", "y=y"}},
		"two have priority": {func(w *crashWorld) {
			w.urge("ana", "NOW2")
		}, []string{"first=Stopped", "NOW=NOW", "NOW2=NOW2", "L=L", "x=x", "y=y"}},
		"another waits": {func(w *crashWorld) {
			w.write("bea", "b")
			w.pass()
			w.model.release("first")
		}, []string{"first=first", "NOW=NOW", "L=L", "x=x", "y=y", "b=b"}},
		"the host dies": {func(w *crashWorld) {
			w.crash()
			w.begin()
		}, []string{"NOW=NOW", "first=first", "L=L", "x=x", "y=y"}},
		"the host dies behind the run": {func(w *crashWorld) {
			w.model.release("first")
			w.pass()
			w.crash()
			w.begin()
		}, []string{"first=first", "NOW=NOW", "L=L", "x=x", "y=y"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.model.hold("first")
				w.write("ana", "first")
				w.pass()
				w.write("ana", "L", "x")
				w.pass()
				w.urge("ana", "NOW")
				w.pass()
				w.write("ana", "y")
				w.pass()
				tt.follow(w)
				w.pass()
				w.model.free()
				time.Sleep(8 * time.Minute)
				w.wantSaid(tt.want...)
			}, perMinute, patient)
		})
	}
}
