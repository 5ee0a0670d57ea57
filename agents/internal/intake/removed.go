package intake

import (
	"agenthost/agents/internal/message"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// RemovedError says to the sender that the agent was removed. A person need not
// know how agents are called.
func RemovedError(book texts.Book, agent string, o message.Origin) *run.Error {
	e := &run.Error{Code: llm.CodeToolUnavailable, Message: book.Say("message_failed")}
	if o.Route != nil {
		e.Message = "agent \"" + agent + "\" is not configured any more"
	}
	return e
}
