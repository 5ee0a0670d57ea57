package host_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/waittest"
)

// The host goes on without a hook that there is no room for, and takes it in
// when another goes.
func TestOneHookTooMany(t *testing.T) {
	t.Parallel()
	agent := oldModels + "agents: [{id: ana, channels: [web]}]\n"
	list := []string{"hooks:\n"}
	for i := range hooks.MaxPerName + 1 {
		list = append(list, fmt.Sprintf("  - {on: after_message, subject: acme.n%d}\n", i))
	}
	r := startReloadable(t, "", agent+strings.Join(list, ""), nil)
	nc := r.Bus().NC
	calls := respond(t, nc, "acme.n128", carryOn)
	heard := respond(t, nc, "acme.n127", carryOn)
	say := func() {
		publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "ana", Text: "hi"})
		select {
		case <-heard:
		case <-time.After(waittest.Within):
			t.Fatal("the last hook that there is room for was not fired")
		}
	}
	say()
	r.must(agent+list[0]+strings.Join(list[2:], ""), "hooks: changed")
	say()
	select {
	case <-calls:
	case <-time.After(waittest.Within):
		t.Fatal("the hook that there is room for now was not fired")
	}
	if len(calls) > 0 {
		t.Error("the hook was fired before there was room for it")
	}
}
