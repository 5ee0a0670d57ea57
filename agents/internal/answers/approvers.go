package answers

import (
	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// A Rule decides who may answer a call that waits.
type Rule struct {
	id        string // the wait id
	kind      string // approval or question
	budget    bool   // an approval to go beyond a budget
	approvers []string
}

// rule is that of a call of a run of this conversation.
func (c Reader) rule(r *run.Run, call run.Call) Rule {
	return Rule{
		id: c.WaitID(r.ID, call), kind: call.Asked, budget: r.Hold != nil && r.Hold.ID == call.ID,
		approvers: c.Agent.Now().Config.Approvers,
	}
}

// RuleOf is that of a call of any run.
func RuleOf(w agents.Waiting) Rule {
	return Rule{id: w.ID, kind: w.Kind, budget: w.Tool == run.Budget, approvers: w.Approvers}
}

// Refuse says why a message from a chat is not taken as the answer that it gives; nil
// when it is. here tells that the chat is the one that was asked. Commands and the API
// are the operator's, and not asked here.
func (a Rule) Refuse(book texts.Book, it *message.Item, here bool, answer run.Signal) *run.Error {
	approves := a.kind == run.ForApproval
	switch {
	case it.IsFrom(a.approvers):
		return nil
	case !here:
		return notPermitted(book.Say("approver_only_elsewhere"))
	case approves && len(a.approvers) > 0:
		return notPermitted(book.Say("approver_only"))
	case !approves || answer.Answer == run.Deny:
		return nil
	case a.budget:
		return notPermitted(book.Say("operator_only_budget", "command", "agenthost approvals answer "+a.id+" approve"))
	case answer.Scope == ask.ScopeAlways:
		return notPermitted(book.Say("operator_only_always", "command", "agenthost approvals answer "+a.id+" approve --scope always"))
	}
	return nil
}

func notPermitted(why string) *run.Error {
	return &run.Error{Code: llm.CodeToolDenied, Message: why}
}

// Refusal says why an input, which answers what r has asked, may not; nil when it may,
// or is no answer.
func (c Reader) Refusal(it *message.Item, r *run.Run) *run.Error {
	if it.Origin.Inbound == nil {
		return nil
	}
	sig, ok := c.Meant(it, r)
	if !ok {
		return nil
	}
	return c.RefusalOf(it, r, sig)
}

// RefusalOf is Refusal of an input that is known to say sig.
func (c Reader) RefusalOf(it *message.Item, r *run.Run, sig run.Signal) *run.Error {
	if it.Origin.Inbound == nil || sig.Kind != run.Answered {
		return nil
	}
	call, ok := c.WaitingCall(r, sig.Call)
	if !ok {
		return nil
	}
	return c.rule(r, call).Refuse(c.Book(it), it, true, sig)
}
