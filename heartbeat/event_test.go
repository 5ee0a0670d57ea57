package heartbeat_test

import (
	"strings"
	"testing"

	"agenthost/heartbeat"
)

func TestCheckSubject(t *testing.T) {
	const wrong, plugins, own, agents, server, bucket = "such as orders", "come by channels", "own events", "agent.events.>", "server's own", "not one that hosts use"
	tests := map[string]string{
		"orders.created.>":         "",
		"orders.*.paid":            "",
		"alarm":                    "",
		"*":                        "",
		"$KV.stock.>":              "",
		"agent.events.bob.>":       "",
		"agent.events.*.dead":      "",
		"agent.events.>":           "",
		"agent.events.ana.dead":    own,
		"agent.events.ana.>":       own,
		"":                         wrong,
		"a..b":                     wrong,
		"a b":                      wrong,
		"a.>.b":                    wrong,
		"a.b*":                     wrong,
		">":                        plugins,
		"*.created":                plugins,
		"plugin.inbound.demo":      plugins,
		"plugin.outbound.>":        plugins,
		"agent.>":                  agents,
		"agent.route.ana":          agents,
		"agent.*.ana":              agents,
		"agent.session.ana.*":      agents,
		"$SYS.>":                   server,
		"$JS.EVENT.>":              server,
		"$KV.>":                    bucket,
		"$KV.*.a":                  bucket,
		"$KV.AGENT_WAITING.>":      bucket,
		"_INBOX.>":                 "answers",
		"agenthost.status":         "requests to hosts",
		"$O.files.C.>":             "files",
		"$SRV.PING":                "services",
		strings.Repeat("a.", 9):    wrong,
		"orders.created.ü":         "",
		"orders.created.\u007f":    wrong,
		"orders.created.\tx":       wrong,
		"agent.eventsx.ana.broken": agents,
	}
	for subject, want := range tests {
		err := heartbeat.CheckSubject("ana", subject)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", subject, err, want)
		}
	}
}
