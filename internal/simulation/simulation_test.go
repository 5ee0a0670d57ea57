package simulation_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"agenthost/internal/simulation"

	"github.com/rs/zerolog"
)

var (
	seeds = flag.Uint64("simulation.seeds", manySeeds, "how many seeds to simulate")
	from  = flag.Uint64("simulation.from", 1, "the first of them")
	drop  = flag.String("simulation.drop", "", "faults and inputs to leave out, such as f0,i3")
	first = flag.Bool("simulation.first", false, "end with the first seed that fails, as it is")
	trace = flag.Bool("simulation.trace", false, "print every step, what hosts log, and what is stored in the end")
)

// simulate runs a plan; one that hangs ends the tests.
func simulate(t *testing.T, p simulation.Plan, lines func(string)) simulation.Result {
	t.Helper()
	watchdog := time.AfterFunc(5*time.Minute, func() {
		debug.SetTraceback("all") // which goroutine has the lock
		panic(fmt.Sprintf("seed %d hangs: a goroutine waits for a lock that nobody gives back", p.Seed))
	})
	defer watchdog.Stop()
	log := zerolog.Nop()
	if lines != nil {
		log = zerolog.New(os.Stdout)
	}
	return simulation.Simulate(t, p, log, lines)
}

// Whatever goes wrong, every message is answered once, in its turn, and every log is in order.
func TestSimulation(t *testing.T) {
	defer simulation.Alone()()
	var lines func(string)
	if *trace {
		lines = func(line string) { fmt.Print(line) }
	}
	began, sum, failed := time.Now(), simulation.Result{}, 0
	faults := map[simulation.FaultKind]int{}
	for seed := *from; seed < *from+*seeds; seed++ {
		p := simulation.NewPlan(seed)
		if *drop != "" {
			p = p.Without(strings.Split(*drop, ","))
		}
		r := simulate(t, p, lines)
		sum.Add(r)
		for _, f := range r.Fired {
			faults[f.Kind]++
		}
		if len(r.Violations) > 0 {
			failed++
			report(t, p, r)
			if *first {
				t.FailNow()
			}
		}
		if failed == 5 {
			t.Fatal("five seeds have failed; no more are tried")
		}
		if seed%15 == 0 {
			runtime.GC()
		}
	}
	t.Logf("%d seeds in %s: %d messages, %d commits, %d steps, %s of their own time; faults: %v",
		*seeds, time.Since(began).Round(time.Millisecond), sum.Inputs, sum.Commits, sum.Steps, sum.Lasted.Round(time.Second), faults)
}

// report makes a plan that fails smaller, and tells how to see it again.
func report(t *testing.T, p simulation.Plan, r simulation.Result) {
	t.Helper()
	small, dropped := p, ""
	if *drop == "" && !*first {
		var names []string
		small, names = simulation.Shrink(p, func(p simulation.Plan) bool { return len(simulate(t, p, nil).Violations) > 0 })
		dropped = " -simulation.drop=" + strings.Join(names, ",")
		if len(names) > 0 {
			r = simulate(t, small, nil)
		}
	}
	tags := ""
	if simulation.Ordered {
		tags = `-tags ordered -overlay "$(go run ./internal/simulation/overlay)" `
	}
	t.Errorf("seed %d:\n\t%s\n%s\nagain: go test %s./internal/simulation -run TestSimulation -simulation.from=%d -simulation.seeds=1%s -simulation.trace",
		p.Seed, strings.Join(r.Violations, "\n\t"), small, tags, p.Seed, dropped)
}
