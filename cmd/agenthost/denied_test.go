//go:build long

package main

import (
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/internal/cli"

	"github.com/nats-io/nats-server/v2/server"
)

// Who may not ask hears nothing: the error says what NATS has refused.
func TestCommandsOfUsersWhoMayNot(t *testing.T) {
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "guest", Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"$JS.API.INFO"}},
		}}, {Username: "clerk", Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"agenthost.runs"}},
		}}}
	})
	for args, subject := range map[string]string{
		"agents":      "agenthost.status",
		"sessions ls": "$JS.API.",
		"dead ls":     "$JS.API.",

		"erase --peer web/ana --force": "$JS.API.",
		"runs ls --user clerk":         "agenthost.runs", // not: no runs
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			words := append([]string{"-s", url, "--user", "guest", "--password", "secret"}, strings.Fields(args)...)
			_, errs := call(t, cli.CodeFailed, "", words...)
			for _, want := range []string{"ermissions", subject, "this user of NATS needs the permission", "agenthost nats-permissions"} {
				if !strings.Contains(errs, want) {
					t.Errorf("got %q, want %q in it", errs, want)
				}
			}
		})
	}
}
