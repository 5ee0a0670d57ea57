package answers

import (
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/run"
)

// OperatorOrder is what an operator wants done with the chat, one of the tokens of
// package ask; empty: it is no such order.
func OperatorOrder(it *message.Item) string {
	if !it.Interjects() || !it.Signed || !it.ThroughDoor() {
		return ""
	}
	return ask.OperatorOrder(it.Origin.Route.CorrelationID)
}

// takenOver ends the run for an operator, who answers what it was to answer.
func (c Reader) takenOver(sig run.Signal, r *run.Run) (run.Signal, bool) {
	if !c.Key.IsChat() || c.Agent.Now().Shadow() || len(r.Inputs) == 0 {
		return sig, false
	}
	last := r.Inputs[len(r.Inputs)-1]
	o, err := message.ReadOrigin(last)
	if err != nil {
		return sig, false
	}
	sig.Kind, sig.Reason, sig.TakenOver = run.Abort, c.Texts().Say("operator_joined"), o.Address(last.OwnID())
	return sig, sig.TakenOver != nil
}
