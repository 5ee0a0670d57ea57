package bus_test

import (
	"testing"

	"agenthost/bus"
)

func TestChannel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		subject, channel, instance string
		ok                         bool
	}{
		"bare":            {"plugin.inbound.web", "web", "", true},
		"instance":        {"plugin.inbound.telegram.sales", "telegram", "sales", true},
		"deeper":          {"plugin.inbound.a.b.c", "a", "b.c", true},
		"outbound":        {"plugin.outbound.web", "", "", false},
		"a route":         {"agent.route.ana", "", "", false},
		"only the prefix": {"plugin.inbound", "", "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			channel, instance, ok := bus.Channel(tt.subject)
			if channel != tt.channel || instance != tt.instance || ok != tt.ok {
				t.Errorf("got %q, %q, %t, want %q, %q, %t", channel, instance, ok, tt.channel, tt.instance, tt.ok)
			}
		})
	}
}

func TestStoredSubject(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"plugin.outbound.web": true, "plugin.inbound.web": true, "agent.route.ana": true, "agent.schedule.ana.x": true,
		"_INBOX.a.b": false, "acme.answers": false, "agent.stream.ana.x": false, "plugins": false,
		"plugin.results": false, "plugin.inbound": false, "agent.route.ana.x": false,
	}
	for subject, want := range tests {
		t.Run(subject, func(t *testing.T) {
			if got := bus.StoredSubject(subject); got != want {
				t.Errorf("got %t, want %t", got, want)
			}
		})
	}
}
