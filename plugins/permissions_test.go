package plugins_test

import (
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/permissions"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
)

// What a host may do on a shared NATS is enough for its accounts.
func TestRightsOfAHost(t *testing.T) {
	t.Parallel()
	role, err := permissions.RoleOf("host", permissions.Fleet{})
	if err != nil {
		t.Fatal(err)
	}
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "host", Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: role.Publish}, Subscribe: &server.SubjectPermission{Allow: role.Subscribe},
		}}}
	})
	b := bustest.OpenConfig(t, bus.Config{URL: url, User: "host", Password: "secret", InboxPrefix: "_INBOX_host"})
	if err := b.Ready(bustest.Context(t)); err != nil {
		t.Fatal(err)
	}
	bustest.Provision(t, b.JS)
	platform := newMemory(chatLimits())
	first := startHost(t, b, "host-1", platform, settings.Account{Stream: true}).connected()
	platform.write(plugins.Received{From: "ana", Text: "hi", Files: []plugins.File{{Name: "a.txt", Data: []byte("a")}}})
	bustest.Eventually(t, "it is stored", func() bool { return first.courier.Status().In == 1 })
	first.stop()
	startHost(t, b, "host-2", platform, settings.Account{Stream: true}).connected()
	send(t, b, numbered("ana", 0, 2)...)
	settled(t, b)
	if diff := cmp.Diff(wantTexts("ana", 2), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}
