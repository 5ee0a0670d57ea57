package hooks

import "slices"

// The points that a host fires. A registry takes any other name as well.
const (
	BeforeMessage   = "before_message"    // {message}
	AfterMessage    = "after_message"     // {message, replies}
	BeforeModelCall = "before_model_call" // {model, messages, tools}
	AfterModelCall  = "after_model_call"  // {model, message, usage}
	BeforeToolCall  = "before_tool_call"  // {call, name, args}
	AfterToolCall   = "after_tool_call"   // {call, name, args, ok, result}
	OnSessionStart  = "on_session_start"  // {key, reason}
	OnSessionEnd    = "on_session_end"    // {key, reason}
	OnError         = "on_error"          // {code, message}
)

// Points returns the names of the points that a host fires, in the order of
// one message's way through it.
func Points() []string {
	return slices.Clone(points)
}

var points = []string{
	BeforeMessage, AfterMessage, BeforeModelCall, AfterModelCall, BeforeToolCall, AfterToolCall,
	OnSessionStart, OnSessionEnd, OnError,
}
