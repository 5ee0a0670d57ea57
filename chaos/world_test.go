//go:build unix && long

package chaos_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"agenthost/internal/agenthost-chaos/proxy"
	"agenthost/internal/freeport"
)

// A world is what a test breaks: NATS, a configuration, and the ledger that
// watches from outside.
type world struct {
	*ledger
	nats   *process // nil when it is embedded
	config string
}

// external is a world with a server of its own; model is empty for the
// scripted one.
func external(t testing.TB, model string) *world {
	t.Helper()
	nats, address := startNATS(t)
	return &world{
		ledger: openLedger(t, address), nats: nats,
		config: setup{nats: address, model: model}.write(t),
	}
}

// proxied is external with a line between its hosts and NATS.
func proxied(t testing.TB, model string) (*world, *proxy.Proxy) {
	t.Helper()
	nats, address := startNATS(t)
	line := startProxy(t, address)
	return &world{
		ledger: openLedger(t, address), nats: nats,
		config: setup{nats: line.Address, model: model}.write(t),
	}, line
}

// embedded is a world whose server is in the host, and dies with it.
func embedded(t testing.TB, model string) *world {
	t.Helper()
	address := freeport.Address(t)
	return &world{
		ledger: openLedger(t, address),
		config: setup{nats: address, embed: true, model: model}.write(t),
	}
}

// worlds are both kinds.
var worlds = map[string]func(testing.TB, string) *world{"embedded": embedded, "external": external}

// newRand is a source of random numbers that AGENTHOST_CHAOS_SEED determines,
// as far as the machine's own timing lets it.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if s := os.Getenv("AGENTHOST_CHAOS_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("AGENTHOST_CHAOS_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("AGENTHOST_CHAOS_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// upTo is a random duration below most.
func upTo(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(most)))
}
