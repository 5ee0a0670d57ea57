package answers

import (
	"errors"
	"strconv"
	"strings"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/llm"
	"agenthost/run"
)

// ErrUnfit tells that an answer is none to the question that it names.
var ErrUnfit = errors.New("this is no answer to the question; an approval takes approve or deny, a question with options one of them")

// NoAnswer tells a person that what they have said to a question, by its id, does
// not answer it, and what would.
func (c Reader) NoAnswer(it *message.Item, asked string, options []string) *run.Error {
	switch {
	case asked == run.ForApproval:
		return c.Mistake(it, "not_an_approval")
	case len(options) > 0:
		return c.Mistake(it, "not_an_option", "options", strings.Join(options, ", "))
	}
	return c.Mistake(it, "not_an_answer")
}

// NoneOf says why an input is no answer to what it names, while r waits.
func (c Reader) NoneOf(it *message.Item, r *run.Run) *run.Error {
	call, waits := c.WaitingCall(r, it.Origin.Inbound.Answers)
	switch {
	case !waits || call.Asked == run.ForDelegate:
		return c.Mistake(it, "no_open_question")
	case TooLate(call, it):
		return c.ExpiredCall(it, call)
	}
	return c.NoAnswer(it, call.Asked, call.Options)
}

// ExpiredCall is Expired for a call of a run of this conversation.
func (c Reader) ExpiredCall(it *message.Item, call run.Call) *run.Error {
	return c.Expired(it, agents.Waiting{Tool: call.Name, Kind: call.Asked, Prompt: call.Prompt})
}

// withNumber are the options of a question, each as the answer that names the question as well:
// "red 2".
func withNumber(call run.Call) (options []string) {
	for _, option := range call.Options {
		options = append(options, option+" "+strconv.Itoa(ask.Number(call)))
	}
	return options
}

// Expired tells a person that what they say to a question of another run comes after its
// deadline.
func (c Reader) Expired(it *message.Item, w agents.Waiting) *run.Error {
	switch {
	case w.Tool == run.Budget:
		return c.Mistake(it, "budget_expired")
	case w.Kind == run.ForApproval:
		return c.Mistake(it, "approval_expired", "what", w.Prompt)
	}
	return c.Mistake(it, "question_expired", "question", w.Prompt)
}

// Mistake is the error of a message that asks for what cannot be, in words.
func (c Reader) Mistake(it *message.Item, key string, values ...string) *run.Error {
	return &run.Error{Code: llm.CodeValidation, Message: c.Book(it).Say(key, values...)}
}
