//go:build unix && long

package chaos_test

import (
	"sync"
	"testing"
	"time"

	"agenthost/internal/agenthost-chaos/proxy"
)

// startProxy starts the line between a host and NATS, which can be cut.
func startProxy(t testing.TB, server string) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Listen(server)
	if err != nil {
		t.Fatal(err)
	}
	var carried sync.WaitGroup
	carried.Go(p.Run)
	t.Cleanup(func() {
		p.Close()
		carried.Wait()
	})
	return p
}

// lose throws away what the server sends for a while, and then the connections,
// so that the server thinks it has delivered what never came.
func lose(p *proxy.Proxy, d time.Duration) {
	p.Swallow(proxy.ToClient, true)
	<-time.After(d) // the chaos itself
	p.Heal()
}
