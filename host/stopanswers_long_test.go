//go:build long

package host_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
)

// Hosts that stop at once do not wait for each other until the grace is over: no host is left that
// would answer.
func TestHostsThatStopAtOnceDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	hosts, stops := map[string]*host.Host{}, map[string]func(){}
	for _, name := range []string{"blue", "green"} {
		cfg := hosttest.Demo(t)
		cfg.NATS = bus.Config{URL: url}
		cfg.NATS.Embedded.Store = t.TempDir()
		hosts[name] = host.New(host.Options{Config: cfg, Name: name, Log: bustest.Log(t), Version: "0.1.0", Grace: waittest.Within + time.Minute})
		stops[name] = hosttest.Serve(t, hosts[name])
	}
	waittest.Until(t, "the hosts know each other", func() bool {
		list, err := clientOf(hosts["blue"]).Hosts(t.Context())
		return err == nil && len(list) == 2
	})
	if _, err := clientOf(hosts["blue"]).Pause(t.Context(), client.Pause{Target: client.PauseTarget{Agent: "demo"}}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 2)
	for name, h := range hosts {
		before := h.Bus().NC.NumSubscriptions()
		go func() { _ = complete(t, h, "hello of "+name) }()
		waittest.Until(t, "the request is open", func() bool { return h.Bus().NC.NumSubscriptions() > before })
	}
	for name, stop := range stops {
		go func() { stop(); ended <- name }()
	}
	waittest.For(t, "the end of one host", ended)
	waittest.For(t, "the end of the other", ended)
}
