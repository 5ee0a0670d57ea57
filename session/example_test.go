package session_test

import (
	"fmt"

	"agenthost/session"
)

func ExampleSID() {
	key := session.DM("telegram", "sales", "42")
	fmt.Println("agent.session.ana." + session.SID("ana", key))
	// Output: agent.session.ana.aodrdqrg36zrezgzdmvo
}
