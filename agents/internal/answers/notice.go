package answers

import (
	"slices"
	"strings"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
	"agenthost/internal/texts"
	"agenthost/run"
)

// Notice is what to tell a person whose message has to wait for r, which waits; empty when the
// deadline that has passed tells enough.
func (c Reader) Notice(it *message.Item, r *run.Run) string {
	calls := r.Open()
	if len(calls) == 0 {
		return c.Texts().Say("waiting")
	}
	late := func(call run.Call) bool { return TooLate(call, it) }
	switch calls = slices.DeleteFunc(calls, late); {
	case len(calls) == 0:
		return ""
	case calls[0].Asked == run.ForDelegate:
		return c.Book(it).Say("waiting_for_agent", "agent", profile.Title(calls[0].To))
	}
	return WaitingFor(c.Book(it), calls[0])
}

// WaitingFor tells a person that their message waits for the answer to a call.
func WaitingFor(book texts.Book, call run.Call) string {
	return book.Say("waiting_for_answer", "question", strings.TrimRight(call.Prompt, ".。"))
}
