//go:build unix && long

package chaos_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"agenthost/internal/freeport"
)

// A crowd is a number of sessions with so many messages outstanding in each.
type crowd struct{ sessions, outstanding int }

var crowds = []crowd{{1, 500}, {8, 50}}

// A burden is one combination of what sessions are busy with and what is killed.
type burden struct {
	crowd
	queueMax int
	target   string
}

// someBusy has each crowd, each length of a queue and each target, but not with each
// other.
var someBusy = []burden{{crowds[0], 50, "embedded"}, {crowds[1], 50, "external"}, {crowds[1], 1000, "external, both killed"}}

func allBusy() (all []burden) {
	for _, c := range crowds {
		for _, queueMax := range []int{1000, 50} {
			for target := range targets {
				all = append(all, burden{c, queueMax, target})
			}
		}
	}
	return all
}

// killCount is how often each host is killed, AGENTHOST_CHAOS_KILLS if that is
// set.
func killCount(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("AGENTHOST_CHAOS_KILLS"), pick("2", "4")))
	if err != nil {
		t.Fatalf("AGENTHOST_CHAOS_KILLS: %v", err)
	}
	return n
}

// A target is a world with one host, and what dies with that host.
type target struct {
	*world
	host   *process
	server *process // dies with the host; nil: it outlives the host, or is in it
}

// targets are the ways in which host and server can die.
var targets = map[string]func(t testing.TB, queueMax int) *target{
	"embedded": func(t testing.TB, queueMax int) *target {
		address := freeport.Address(t)
		return newTarget(t, &world{
			ledger: openLedger(t, address),
			config: writeBusy(t, fmt.Sprintf("{embedded: {store: data, listen: %q, anonymous: all}}", address), queueMax),
		})
	},
	"external": func(t testing.TB, queueMax int) *target {
		return newTarget(t, externalBusy(t, queueMax))
	},
	"external, both killed": func(t testing.TB, queueMax int) *target {
		w := externalBusy(t, queueMax)
		g := newTarget(t, w)
		g.server = w.nats
		return g
	},
}

func newTarget(t testing.TB, w *world) *target {
	t.Helper()
	return &target{world: w, host: newHost(t, w.config, "a")}
}

func externalBusy(t testing.TB, queueMax int) *world {
	t.Helper()
	nats, address := startNATS(t)
	return &world{
		ledger: openLedger(t, address), nats: nats,
		config: writeBusy(t, fmt.Sprintf("{url: %q, embedded: {store: data}}", "nats://"+address), queueMax),
	}
}

// writeBusy writes the configuration of an agent that repeats what it is told.
func writeBusy(t testing.TB, nats string, queueMax int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agenthost.yaml")
	writeFile(t, file, fmt.Sprintf(`nats: %s
http: {listen: ""}
models: {main: {provider: echo}}
agents: [{id: ana, model: main, channels: [chat], session: {queue_max: %d}}]
`, nats, queueMax))
	return file
}

// killAtRandom starts the host and kills it n times: while it is at work, as soon
// as it is ready, or before that. In the end it runs, and has answered more than
// what was outstanding.
func (g *target) killAtRandom(rng *rand.Rand, n int, tr *traffic) {
	g.t.Helper()
	for kill := range n {
		ready := g.host.count(readyLine)
		g.start(rng)
		switch way := rng.IntN(5); {
		case way == 0 && kill%2 == 1:
			// At most every other time, so that no message is under way at five
			// kills in a row: it would be a dead letter, rightly.
			<-time.After(upTo(rng, 500*time.Millisecond)) // the chaos itself
		default:
			await(g.t, "the host", func() bool { return g.host.count(readyLine) > ready })
			if way > 1 {
				tr.awaitEnds(1)
				<-time.After(200*time.Millisecond + upTo(rng, 1800*time.Millisecond)) // the chaos itself
			}
			g.rest()
		}
		g.kill(rng)
	}
	g.start(rng)
	tr.awaitEnds(2 * len(tr.people) * tr.outstanding)
}

const readyLine = `"message":"ready"`

// start starts what was killed, in any order; env is for this life of the host.
func (g *target) start(rng *rand.Rand, env ...string) {
	first := g.server != nil && isClosed(g.server.exited) && rng.IntN(2) == 0
	if first {
		g.server.start()
	}
	g.host.start(env...)
	if g.server != nil && isClosed(g.server.exited) {
		g.server.start()
	}
}

// kill kills the host, and the server, if it is to die as well, in any order.
func (g *target) kill(rng *rand.Rand) {
	if g.server != nil && rng.IntN(2) == 0 {
		g.server.kill()
	}
	g.host.kill()
	if g.server != nil {
		g.server.kill()
	}
}
