package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/config"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// The agents that callers find by the agent protocol are those of the configuration
// that is in force.
func TestAgentProtocolFollowsReload(t *testing.T) {
	t.Parallel()
	r := startReloadable(t, "one", "models: {m: {provider: echo}}\nagents: [{id: a, model: m}, {id: b, model: m, description: Old.}, {id: c, model: m, doors: [mcp]}]\n",
		func(cfg *config.Config) { cfg.NATS.Owner = "me" })
	want := func(list ...string) {
		t.Helper()
		bustest.Eventually(t, "found are "+strings.Join(list, ", "), func() bool { return slices.Equal(registered(t, r.Bus().NC, len(list)), list) })
	}
	want("agents.prompt.agenthost.me.a a, an agent", "agents.prompt.agenthost.me.b Old.")
	r.write("models: {m: {provider: echo}}\nagents: [{id: a, model: m, doors: []}, {id: b, model: m, description: New.}, {id: c, model: m}]\n")
	r.Reload(t.Context(), "test")
	want("agents.prompt.agenthost.me.b New.", "agents.prompt.agenthost.me.c c, an agent")
}

// registered are the agents that a caller finds: those that answer within a second, or
// as many as are wanted.
func registered(t *testing.T, nc *nats.Conn, wanted int) (list []string) {
	t.Helper()
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest("$SRV.INFO.agents", inbox, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for len(list) < wanted {
		msg, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var info micro.Info
		if err := json.Unmarshal(msg.Data, &info); err != nil {
			t.Fatal(err)
		}
		list = append(list, info.Endpoints[0].Subject+" "+info.Description)
	}
	slices.Sort(list)
	return list
}
