package toolcall

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// preview is a call as a person is asked about it, in the language of the agent. short
// is the tool's name and its arguments.
func (t *Caller) preview(ctx context.Context, tool tools.Tool, call run.Call, args json.RawMessage, short string) string {
	name := profile.Title(t.Agent.ID)
	if tool.Preview == nil {
		shown := tools.ShownName(tool.Name)
		arguments, _ := strings.CutPrefix(short, shown)
		if arguments = strings.TrimSpace(arguments); arguments == "" || arguments == "{}" {
			return t.Profile.Texts.Say("approval_tool", "agent", name, "tool", shown)
		}
		return t.Profile.Texts.Say("approval_tool_with", "agent", name, "tool", shown, "arguments", arguments)
	}
	p := tool.Preview(ctx, tools.Call{Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID, Name: call.Name, Args: args})
	values := []string{"agent", name, "size", t.Profile.Texts.Size(p.Bytes)}
	for placeholder, value := range p.Values {
		values = append(values, placeholder, tools.Plain(value))
	}
	text := t.Profile.Texts.Word(p.Sentence, values...)
	if p.Detail != "" {
		text += "\n" + tools.Shown(p.Detail)
	}
	return text
}

// Word says in the texts of questions how each is answered, and numbers them where
// several are open in their chat.
func (t *Caller) Word(waits []*run.Wait) {
	t.order.mu.Lock()
	defer t.order.mu.Unlock()
	t.word(waits, t.order.highest(), false)
}

// word is Word behind given, the highest number that the run has given to what is not open
// yet; more says that others may follow.
func (t *Caller) word(waits []*run.Wait, given int, more bool) {
	first := t.numberedFrom(given, len(waits))
	for i, w := range waits {
		if len(waits) > 1 || first > 1 || more {
			w.Number = first + i
		}
		w.Newest = t.Newest()
		if w.Said = t.said(w); w.For == run.ForApproval && t.isForApprovers() {
			w.Said = w.Prompt + gap(w.Prompt) + t.Profile.Texts.Say("approval_by_approver")
		}
	}
}

// WordExcess is Word of the question whether more than a budget may be spent. Without approvers only
// the operator can allow that; the chat can deny it.
func (t *Caller) WordExcess(w *run.Wait) {
	t.Word([]*run.Wait{w})
	if len(t.Agent.Now().Config.Approvers) > 0 {
		return
	}
	deny := run.Deny
	if w.Number > 0 {
		deny += " " + strconv.Itoa(w.Number)
	}
	w.Said = w.Prompt + gap(w.Prompt) + t.Profile.Texts.Say("approval_by_operator", "deny", deny)
}

// isForApprovers reports whether an approval is asked of a person who may not answer it: only
// approvers may, and they are not one of them. In a group one may be.
func (t *Caller) isForApprovers() bool {
	at, approvers := t.Person(), t.Agent.Now().Config.Approvers
	if at == nil || len(approvers) == 0 || at.To == "" {
		return false
	}
	if key := session.Key(at.Session); key.IsGroup() || !key.IsChat() && at.Chat != "" { // an address does not say whether it is of a group
		return false
	}
	return !slices.Contains(approvers, strings.TrimPrefix(at.Subject, bus.OutboundPrefix)+"/"+at.To)
}

// numberedFrom is the number of the first of n questions: behind those that are open in the
// chat, and behind own.
func (t *Caller) numberedFrom(own, n int) int {
	if left := t.Journal.State().Run; left != nil {
		for _, call := range left.Open() {
			if call.Asked != run.ForDelegate {
				own = max(own, ask.Number(call))
			}
		}
	}
	if t.AtWork != nil {
		own = max(own, t.AtWork())
	}
	at := t.Person()
	if at == nil {
		return own + 1
	}
	return t.Agent.Parts.Asks.Open.TakeNumbers(agents.Waiting{
		Agent: t.Agent.ID, Session: string(t.Key), Origin: at, Approvers: t.Agent.Now().Config.Approvers, Notified: t.notifies(),
	}, own, n)
}

// said is the text of a question with how it is answered.
func (t *Caller) said(w *run.Wait) string {
	book, n := t.Profile.Texts, strconv.Itoa(w.Number)
	switch {
	case w.For == run.ForApproval && w.Number == 0:
		return w.Prompt + gap(w.Prompt) + book.Say("approval_reply")
	case w.For == run.ForApproval:
		return w.Prompt + gap(w.Prompt) + book.Say("approval_reply_numbered", "n", n)
	case w.Number == 0:
		return w.Prompt
	}
	text := book.Say("question_numbered", "n", n, "question", w.Prompt) + "\n"
	if len(w.Options) > 0 {
		return text + book.Say("question_reply_options", "example", w.Options[0]+" "+n)
	}
	return text + book.Say("question_reply_text", "n", n)
}

// gap is what stands between a question and how it is answered.
func gap(prompt string) string {
	if strings.Contains(prompt, "\n") {
		return "\n"
	}
	return " "
}
