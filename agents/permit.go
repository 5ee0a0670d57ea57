package agents

import (
	"slices"
	"strings"

	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// An answerRule decides who may answer a call that waits.
type answerRule struct {
	id        string // the wait id
	kind      string // approval or question
	budget    bool   // an approval to go beyond a budget
	approvers []string
}

// answerRule is that of a call of a run of this conversation.
func (c *conversation) answerRule(r *run.Run, call run.Call) answerRule {
	return answerRule{
		id: c.waitID(r.ID, call), kind: call.Asked, budget: r.Hold != nil && r.Hold.ID == call.ID,
		approvers: c.r.now().cfg.Approvers,
	}
}

// ruleOf is that of a call of any run.
func ruleOf(w Waiting) answerRule {
	return answerRule{id: w.ID, kind: w.Kind, budget: w.Tool == run.Budget, approvers: w.Approvers}
}

// refuse says why a message from a chat is not taken as the answer that it gives; nil
// when it is. here tells that the chat is the one that was asked. Commands and the API
// are the operator's, and not asked here.
func (a answerRule) refuse(book texts.Book, it *item, here bool, answer run.Signal) *run.Error {
	approves := a.kind == run.ForApproval
	switch {
	case it.isFrom(a.approvers):
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

// isFrom reports whether an inbound message is of one of approvers, which are written
// <channel>[.<instance>]/<from>.
func (it *item) isFrom(approvers []string) bool {
	channel := strings.TrimPrefix(it.origin.subject, bus.InboundPrefix)
	return slices.Contains(approvers, channel+"/"+sender(it.origin.inbound))
}

// refusal says why an input, which answers what r has asked, may not; nil when it may,
// or is no answer.
func (c *conversation) refusal(it *item, r *run.Run) *run.Error {
	if it.origin.inbound == nil {
		return nil
	}
	sig, ok := c.meant(it, r)
	if !ok {
		return nil
	}
	return c.refusalOf(it, r, sig)
}

func (c *conversation) refusalOf(it *item, r *run.Run, sig run.Signal) *run.Error {
	if it.origin.inbound == nil || sig.Kind != run.Answered {
		return nil
	}
	call, ok := c.waitingCall(r, sig.Call)
	if !ok {
		return nil
	}
	return c.answerRule(r, call).refuse(c.book(it), it, true, sig)
}
