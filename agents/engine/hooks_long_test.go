//go:build long

package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/tools"
)

// An override that cannot be read is a fault of its hook: it changes nothing,
// and where the hook is to fail closed it stops the run.
func TestUnreadableOverride(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ point, name, value string }{
		"messages":               {hooks.BeforeModelCall, "messages", `"zonk"`},
		"no messages":            {hooks.BeforeModelCall, "messages", `null`},
		"messages of nobody":     {hooks.BeforeModelCall, "messages", `[{"text": "hi"}]`},
		"messages without parts": {hooks.BeforeModelCall, "messages", `[{"role": "user", "text": "hi"}]`},
		"part of no type":        {hooks.BeforeModelCall, "messages", `[{"role": "user", "parts": [{"name": "hi"}]}]`},
		"tools":                  {hooks.BeforeModelCall, "tools", `{}`},
		"tool without a name":    {hooks.BeforeModelCall, "tools", `[{"description": "pays"}]`},
		"answer":                 {hooks.AfterModelCall, "message", `"hi"`},
		"answer without parts":   {hooks.AfterModelCall, "message", `{"role": "assistant", "text": "hi"}`},
		"answer of no type":      {hooks.AfterModelCall, "message", `{"role": "assistant", "parts": [{"name": "hi"}]}`},
		"model":                  {hooks.BeforeModelCall, "model", `{}`},
		"model that is not one":  {hooks.BeforeModelCall, "model", `"zonk"`},
		"no model":               {hooks.BeforeModelCall, "model", `[]`},
		"number for a message":   {hooks.BeforeMessage, "message", `5`},
		"text for a message":     {hooks.BeforeMessage, "message", `"hi"`},
		"message":                {hooks.BeforeMessage, "message", `{"text": 5}`},
		"arguments":              {hooks.BeforeToolCall, "args", `[]`},
		"no arguments":           {hooks.BeforeToolCall, "args", `null`},
	}
	for name, tt := range tests {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, closed %v", name, closed), func(t *testing.T) {
				w := newWorld(t, bot("ana", script(paying), chooses(), has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")})))
				override := hooks.Outcome{Action: hooks.Override, Args: hooks.Args{tt.name: json.RawMessage(tt.value)}}
				w.hook(tt.point, hooks.Options{FailClosed: closed}, answering(override))
				w.say("ana", bus.Inbound{Text: "pay"})
				if closed && tt.point != hooks.AfterModelCall { // there nothing can be stopped
					w.expect("error", couldNotCheck)
				} else {
					w.expect("reply", "It says: paid")
				}
			})
		}
	}
}
