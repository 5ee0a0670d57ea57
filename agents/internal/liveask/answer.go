package liveask

import (
	"slices"
	"strings"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/texts"
	"agenthost/run"
)

// Take gives an input to the question that it answers, and reports whether it answers one that
// has no answer yet; left is the run at work. Where the before_message hooks are to see the
// answer, screen is not nil: it calls them, which takes time, and then the tool has what they
// leave of it. One that they refuse it has not; the question waits on.
func (q *Questions) Take(it *message.Item, left *run.Run) (screen func() (refused string), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked, text := q.answered(it, left)
	if asked == nil || asked.given { // the first answer counts
		return nil, false
	}
	asked.given = true
	if it.Origin.Inbound != nil && len(asked.call.Options) == 0 && q.Hooked(hooks.BeforeMessage) {
		return func() string { return q.screen(asked, it, text) }, true
	}
	asked.answer <- text
	return nil, true
}

// screen gives a question what the before_message hooks leave of an answer.
func (q *Questions) screen(asked *question, it *message.Item, answer string) (refused string) {
	s := q.Screen(q.Agent.Work, it, "")
	switch {
	case s == nil: // the hook was removed meanwhile
	case s.Refused != "":
		q.mu.Lock()
		asked.given = false
		q.mu.Unlock()
		return s.Refused
	default:
		answer = ask.ReadAgain(it.Origin.Inbound.Said(), answer, s.Origin.Inbound.Said())
	}
	select {
	case asked.answer <- answer:
	default: // the first answer counts
	}
	return ""
}

// answered is the question that an input answers, nil where it answers none: the one that it
// names, or one of all that are open in the chat. Called with the lock held.
func (q *Questions) answered(it *message.Item, left *run.Run) (*question, string) {
	for _, asked := range q.open {
		asked.call.Number = q.reader().NumberOf(asked.id, asked.call)
	}
	if it.Origin.Inbound == nil || it.Origin.Inbound.Answers != "" {
		for _, asked := range q.open {
			if text, ok := asked.answeredBy(q.Book(it), it); ok {
				return asked, text
			}
		}
		return nil, ""
	}
	var open []run.Call
	for _, asked := range q.open {
		if !asked.given && asked.before(it) {
			open = append(open, asked.call)
		}
	}
	if len(open) == 0 || message.Order(it.Origin.Inbound) != "" || it.Changes() {
		return nil, ""
	}
	open = q.reader().OpenWith(open, it, left)
	call, sig, ok := ask.Pick(q.Book(it), open, it.Origin.Inbound.Said(), it.Origin.Inbound.Option() > 0)
	i := slices.IndexFunc(q.open, func(asked *question) bool { return asked.id == call.ID })
	if !ok || i < 0 {
		return nil, ""
	}
	return q.open[i], sig.Answer
}

// reader reads inputs as answers.
func (q *Questions) reader() answers.Reader { return answers.Reader{Session: q.Session} }

// answeredBy reads an input as the answer that it is by the id of the question.
func (q *question) answeredBy(book texts.Book, it *message.Item) (string, bool) {
	var text string
	switch route := it.Origin.Route; {
	case route != nil && (route.Kind != bus.RouteResult || route.CorrelationID != q.id || !it.ThroughDoor()):
		return "", false
	case route != nil:
		text = route.Text
	case it.Origin.Inbound.Answers != q.id:
		return "", false
	default:
		text = answers.Words(it.Origin.Inbound, q.call.Options)
	}
	if strings.TrimSpace(text) == "" && (it.Origin.Inbound == nil || len(it.Origin.Inbound.Media) == 0) {
		return "", true // for the tool to judge: it may have a default
	}
	sig, ok := answers.Said(book, run.Signal{}, q.call, text, true)
	return sig.Answer, ok
}

// before reports whether the question was asked before an input came.
func (q *question) before(it *message.Item) bool { return answers.Before(q.call, it) }

// Unfit says why an input is no answer to the question that it names; nil when it names none, or
// is one.
func (q *Questions) Unfit(it *message.Item) *run.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, asked := range q.open {
		if it.Origin.Inbound == nil || it.Origin.Inbound.Answers != asked.id {
			continue
		}
		if _, ok := asked.answeredBy(q.Book(it), it); !ok {
			return q.reader().NoAnswer(it, run.ForQuestion, asked.call.Options)
		}
	}
	return nil
}

// Notice is what to tell a person whose message waits for the answer to a question; empty when
// it waits for none. It is told once: from now on they have been.
func (q *Questions) Notice(it *message.Item) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) == 0 || it.Origin.Inbound == nil || it.Changes() || !q.open[0].before(it) {
		return ""
	}
	if slices.ContainsFunc(q.open, func(asked *question) bool { return asked.noticed }) {
		return ""
	}
	q.open[0].noticed = true
	return answers.WaitingFor(q.Book(it), q.open[0].call)
}
