package bus_test

import (
	"strings"
	"testing"

	"agenthost/bus"
)

// What a stranger names is published on only outside of what counts as the host's own
// word; a result may go to an agent, and what a run says to its channel.
func TestSubjectsThatOthersName(t *testing.T) {
	t.Parallel()
	type may struct{ publish, result, reply bool }
	all, none := may{true, true, true}, may{}
	tests := map[string]may{
		"_INBOX.abc.1": all, "acme.results": all, "plugins.x": all, "agents.x": all, "plugin": all, "agent": all,
		"AGENT.route.bank": all, "Plugin.inbound.web": all, // another subject: NATS minds capitals
		"agenthost.approve": none, "agenthost.reload": none, "agenthost.sessions.delete": none,
		"agent.session.ana.x": none, "agent.snapshot.ana.x": none, "agent.dead.ana": none, "agent.events.ana.x": none,
		"agent.schedule.ana.x": none, "agent.due.ana": none, "agent.hook.audit": none, "agent.stream.ana.x": none,
		"agent.route.ana": {false, true, true}, "agent.route": none, "agent.route.": none, "agent.route.ana.x": none, "agent.route.*": none,
		"agent.route.$x": none, "agent.route.a b": none,
		"plugin.inbound.web": none, "plugin.inbound.web.one": none, "plugin.web": none,
		"plugin.outbound.web": {false, false, true}, "plugin.outbound.web.one": {false, false, true}, "plugin.outbound.*": none, "plugin.outbound.": none,
		"$JS.API.STREAM.PURGE.AGENT_SESSIONS": none, "$KV.AGENT_ALLOWED.x": none, "$SYS.REQ.SERVER.PING": none, "$": none,
		"": none, ".": none, "a.": none, ".a": none, "a..b": none, "a b": none, "a\tb": none, "a\r\nPUB b": none, "a\x00": none, "a\u00a0b": none,
		"*": none, ">": none, "a.*": none, "a.>": none, "a*b": none, " agenthost.reload": none, "agenthost.reload ": none,
		strings.Repeat("x", 256): none, strings.Repeat("x", 255): all,
	}
	for subject, want := range tests {
		got := may{bus.Publishable(subject), bus.ResultSubject(subject), bus.ReplySubject(subject)}
		if got != want {
			t.Errorf("%q: got %v, want %v", subject, got, want)
		}
	}
}
