package bus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats-server/v2/server"
)

// Replies come below the prefix of the configuration, else that of the context:
// what a role may not read, its server refuses.
func TestInboxPrefix(t *testing.T) {
	const prefix = "_INBOX_host"
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "host", Password: "secret", Permissions: &server.Permissions{
			Subscribe: &server.SubjectPermission{Allow: []string{prefix + ".>"}},
		}}}
	})
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	for name, inbox := range map[string]string{"with": prefix, "without": ""} {
		file := filepath.Join(home, "nats", "context", name+".json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"url":%q,"user":"host","password":"secret","inbox_prefix":%q}`, url, inbox)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, cfg := range map[string]bus.Config{
		"configuration":      {URL: url, User: "host", Password: "secret", InboxPrefix: prefix},
		"context":            {Context: "with"},
		"above that context": {Context: "without", InboxPrefix: prefix},
	} {
		t.Run(name, func(t *testing.T) {
			nc, js, err := bus.Dial(bustest.Context(t), cfg, "cli", bustest.Log(t))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if inbox := nc.NewInbox(); !strings.HasPrefix(inbox, prefix+".") {
				t.Errorf("got %s, want it below %s", inbox, prefix)
			}
			if _, err := js.AccountInfo(bustest.Context(t)); err != nil {
				t.Errorf("%v; %v", err, nc.LastError())
			}
		})
	}
}
