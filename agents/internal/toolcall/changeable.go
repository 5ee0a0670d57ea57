package toolcall

import (
	"encoding/json"

	"agenthost/agents/internal/hookvalue"
	"agenthost/hooks"
)

// What a hook may change at the points where the host goes by it. What cannot be
// read is found here, where it is known whose it is.
var (
	changeableCall   = hooks.Changeable{"args": hookvalue.Check[map[string]json.RawMessage]}
	changeableResult = hooks.Changeable{"ok": hookvalue.Check[bool], "result": hookvalue.Check[string]}
)
