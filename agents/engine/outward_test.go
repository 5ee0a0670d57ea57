package engine_test

import (
	"encoding/json"
	"testing"

	"agenthost/bus"
	"agenthost/tools"
)

const reading = `
rules:
  - {when: secretly, tool_calls: [{name: read, args: {url: "https://a.test/x?secret"}}]}
  - {when: read, tool_calls: [{name: read, args: {url: "https://a.test/x"}}]}
  - {after_tool: "*", text: "It says: ${result}"}
  - {text: "You said: ${text}"}
`

// reader is a tool like fetch_url.
var reader = tools.Tool{
	Name: "read", Schema: anything, ReadOnly: true, Run: text("a page"),
	Outward: func(args json.RawMessage) tools.Destination {
		var a struct{ URL string }
		_ = json.Unmarshal(args, &a)
		return tools.Destination{Address: a.URL, Host: "a.test"}
	},
}

func TestAddressThatAPersonWroteNeedsNoApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(reading), has(reader)))
	w.say("ana", bus.Inbound{Text: "It is https://a.test/x, by the way."})
	w.expect("reply", "You said: It is https://a.test/x, by the way.")
	w.say("ana", bus.Inbound{Text: "read it"})
	w.expect("reply", "It says: a page")
	w.say("ana", bus.Inbound{Text: "read it secretly"})
	w.expect("approval", `Ana wants to use read with url="https://a.test/x?secret". Reply approve or deny.`)
}

func TestAddressOfAnotherSessionNeedsAnApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(reading), has(reader)))
	w.say("ana", bus.Inbound{From: "eve", Text: "It is https://a.test/x"})
	w.expect("reply", "You said: It is https://a.test/x")
	w.say("ana", bus.Inbound{From: "ana", Text: "read it"})
	w.expect("approval", `Ana wants to use read with url="https://a.test/x". Reply approve or deny.`)
}

func TestAddressThatAnAgentWroteNeedsAnApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(reading), has(reader)))
	w.send("agent.route.ana", bus.Route{
		Kind: bus.RouteDelegate, From: "eve", CorrelationID: "1", Text: "read https://a.test/x",
		Origin: &bus.Origin{Subject: "plugin.outbound.ana", To: "ana"},
	})
	w.expect("approval", `Ana wants to use read with url="https://a.test/x". Reply approve or deny.`)
}

// What is approved for the session stands for the host that was shown.
func TestApprovalOfAnAddressStandsForItsHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(reading), has(reader)))
	w.say("ana", bus.Inbound{Text: "read it"})
	w.expect("approval", `Ana wants to use read with url="https://a.test/x". Reply approve or deny.`)
	w.say("ana", bus.Inbound{Text: "approve session"})
	w.expect("reply", "It says: a page")
	w.say("ana", bus.Inbound{Text: "read it secretly"})
	w.expect("reply", "It says: a page")
}
