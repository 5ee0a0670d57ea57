package conversation

import (
	"context"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/clock"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/texts"
	"agenthost/run"
	"agenthost/tools"
)

// A liveAsk is a question of a tool that runs. Unlike the question of a suspended run it
// does not outlive its host, as the call does not either.
type liveAsk struct {
	id      string
	call    run.Call // in the shape of a question, to read answers by
	answer  chan string
	dismiss context.CancelFunc // no answer will come
	noticed bool               // a person was told what their message waits for
	given   bool               // it has an answer
}

// liveAsks are the questions of tools that run.
type liveAsks struct {
	asking sync.Mutex // for one at a time, so that they are numbered in their order
	live   []*liveAsk
}

// ErrNoPerson means that the question of a tool reaches no person.
var ErrNoPerson = errors.New("no person can be asked here")

// TextsOf are those of the run under way, whose channel may have its own.
func (c *Conversation) TextsOf(run string) texts.Book {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.current; t != nil && t.ID == run {
		return t.Profile.Texts
	}
	return c.Texts()
}

// Ask puts a question of a tool at work to the person of the session, and waits for the answer.
func (c *Conversation) Ask(ctx context.Context, call tools.Call, prompt string, options []string) (string, error) {
	dismissed, dismiss := context.WithCancel(ctx)
	defer dismiss()
	question := &liveAsk{dismiss: dismiss, answer: make(chan string, 1)}
	defer c.forgetAsk(question)
	t, err := c.putLive(question, call, prompt, options)
	if err != nil {
		return "", err
	}
	defer clock.Pause(ctx)()
	timer := time.NewTimer(t.Profile.Config.Limits.ApprovalTimeout)
	defer timer.Stop()
	select {
	case answer := <-question.answer:
		return answer, nil
	case <-timer.C:
		return "", errors.New("no answer came in time")
	case <-ctx.Done():
		return "", ctx.Err()
	case <-dismissed.Done():
		return "", ErrNoPerson
	}
}

// asker is the run of a tool at work that may ask a person. Called with the lock held.
func (c *Conversation) asker(call tools.Call) *runner {
	t := c.current
	if t == nil || t.ID != call.Run || c.Agent.Now().Shadow() || c.shared.Yielding.Load() {
		return nil
	}
	return t
}

// liveReply is where the numbers of such questions begin, out of the way of the run's
// replies.
const liveReply = 1000

// putLive puts the question where the person is, and where others look for it. The log has
// none of it, and the tool may run again on another host and ask again: the number of the reply
// is made of the id of the question, which no other has.
func (c *Conversation) putLive(question *liveAsk, call tools.Call, prompt string, options []string) (*runner, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.mu.Lock()
	t := c.asker(call)
	c.mu.Unlock()
	if t == nil {
		return nil, ErrNoPerson
	}
	person := t.Person()
	if person == nil {
		return nil, ErrNoPerson
	}
	wait := &run.Wait{For: run.ForQuestion, Prompt: prompt, Options: options, ID: ask.NewToken()}
	t.tools.Word([]*run.Wait{wait})
	c.mu.Lock()
	if c.asker(call) != t {
		c.mu.Unlock()
		return nil, ErrNoPerson
	}
	question.call = run.Call{
		Asked: run.ForQuestion, Prompt: prompt, Options: options, Wait: wait.ID, Number: wait.Number, Newest: c.newest, AskedAt: time.Now().UTC(),
	}
	question.id = c.WaitID(t.ID, question.call)
	question.call.ID = question.id
	c.live = append(c.live, question)
	c.watch().Again()
	c.mu.Unlock()
	n := liveReply + int(crc32.ChecksumIEEE([]byte(wait.ID)))
	reply := &run.Reply{N: n, Kind: run.KindQuestion, Text: wait.Said, Call: call.ID, Wait: wait.ID, Options: options}
	if err := t.Address(reply); err != nil {
		return nil, err
	}
	c.send(&outbox.Batch{Replies: []*run.Reply{reply}, Trace: t.Trace, End: func(bool) {}})
	return t, c.Agent.Parts.Asks.PutSoon(agents.Waiting{
		ID: question.id, Agent: c.Agent.ID, Session: string(c.Key), Run: call.Run, Call: call.ID, Kind: run.ForQuestion, Tool: call.Name,
		Prompt: prompt, Options: options, Number: wait.Number, AskedAt: question.call.AskedAt, Origin: person,
		Model: t.LastModel(), Host: c.Agent.Parts.Host, Approvers: c.Agent.Now().Config.Approvers,
	})
}

// highestLive is the highest number of the questions of tools that run, 0 where none is open.
func (c *Conversation) highestLive() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, question := range c.live {
		n = max(n, ask.Number(question.call))
	}
	return n
}

func (c *Conversation) forgetAsk(question *liveAsk) {
	if question.id == "" { // it was never put
		return
	}
	c.mu.Lock()
	c.live = slices.DeleteFunc(c.live, func(other *liveAsk) bool { return other == question })
	c.watch().Again()
	c.mu.Unlock()
	c.Agent.Parts.Asks.DeleteEntry(question.id)
}

// abandonAsks deletes what tools of the session have asked on a host that has died.
func (c *Conversation) abandonAsks() {
	c.Agent.Parts.Asks.Abandon(c.Agent.Work, c.Agent.ID, c.Key, func(id string) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.live, func(question *liveAsk) bool { return question.id == id })
	})
}

// passScreened gives a question of a tool what the before_message hooks leave of an answer.
// One that they refuse is answered with the reason.
func (c *Conversation) passScreened(question *liveAsk, it *message.Item, answer string) {
	s := c.Screen(c.Agent.Work, it, "")
	switch {
	case s == nil: // the hook was removed meanwhile
	case s.Refused != "":
		c.mu.Lock()
		question.given = false
		c.mu.Unlock()
		c.say(it, run.Reply{Kind: run.KindNotice, Text: s.Refused}, func(bool) {})
		return
	default:
		answer = ask.ReadAgain(it.Origin.Inbound.Text, answer, s.Origin.Inbound.Text)
	}
	select {
	case question.answer <- answer:
	default: // the first answer counts
	}
}

// answeredBy reads it as the answer that it is by the id of the question.
func (a *liveAsk) answeredBy(book texts.Book, it *message.Item) (string, bool) {
	var text string
	switch route := it.Origin.Route; {
	case route != nil && (route.Kind != bus.RouteResult || route.CorrelationID != a.id || !it.ThroughDoor()):
		return "", false
	case route != nil:
		text = route.Text
	case it.Origin.Inbound.Answers != a.id:
		return "", false
	default:
		text = answers.Words(it.Origin.Inbound, a.call.Options)
	}
	if strings.TrimSpace(text) == "" && (it.Origin.Inbound == nil || len(it.Origin.Inbound.Media) == 0) {
		return "", true // for the tool to judge: it may have a default
	}
	sig, ok := answers.Said(book, run.Signal{}, a.call, text, true)
	return sig.Answer, ok
}

// unfitForLive says why it is no answer to the question of a tool that it names; nil when
// it names none, or is one. Called with the lock held.
func (c *Conversation) unfitForLive(it *message.Item) *run.Error {
	for _, question := range c.live {
		if it.Origin.Inbound == nil || it.Origin.Inbound.Answers != question.id {
			continue
		}
		if _, ok := question.answeredBy(c.Book(it), it); !ok {
			return c.reader().NoAnswer(it, run.ForQuestion, question.call.Options)
		}
	}
	return nil
}

// before reports whether the question was asked before it came.
func (a *liveAsk) before(it *message.Item) bool { return answers.Before(a.call, it) }

// untold is the question of a tool that a message waits for, if the person has yet to be
// told so; from now on they have been. Called with the lock held.
func (c *Conversation) untold(it *message.Item) *liveAsk {
	if len(c.live) == 0 || it.Origin.Inbound == nil || it.Changes() || !c.live[0].before(it) {
		return nil
	}
	if slices.ContainsFunc(c.live, func(a *liveAsk) bool { return a.noticed }) {
		return nil
	}
	c.live[0].noticed = true
	return c.live[0]
}

// DismissAsks ends the questions of tools that wait: their answers would come to another
// host.
func (c *Conversation) DismissAsks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, question := range c.live {
		question.dismiss()
	}
}

// answersLive gives it to the question of a tool that it answers, and reports whether it
// answers one; left is the run at work. Called with the lock held.
func (c *Conversation) answersLive(it *message.Item, left *run.Run) bool {
	question, text := c.answeredLive(it, left)
	switch {
	case question == nil || question.given: // the first answer counts
		return false
	case it.Origin.Inbound != nil && len(question.call.Options) == 0 && c.Hooked(hooks.BeforeMessage):
		question.given = true
		c.shared.Busy.Go(func() { c.passScreened(question, it, text) })
		return true
	}
	question.given = true
	question.answer <- text
	return true
}

// answeredLive is the question of a tool that it answers, nil where it answers none: the one
// that it names, or one of all that are open in the chat. Called with the lock held.
func (c *Conversation) answeredLive(it *message.Item, left *run.Run) (*liveAsk, string) {
	for _, question := range c.live {
		question.call.Number = c.reader().NumberOf(question.id, question.call)
	}
	if it.Origin.Inbound == nil || it.Origin.Inbound.Answers != "" {
		for _, question := range c.live {
			if text, ok := question.answeredBy(c.Book(it), it); ok {
				return question, text
			}
		}
		return nil, ""
	}
	var open []run.Call
	for _, question := range c.live {
		if !question.given && question.before(it) {
			open = append(open, question.call)
		}
	}
	if len(open) == 0 || message.Order(it.Origin.Inbound) != "" || it.Changes() {
		return nil, ""
	}
	open = c.reader().OpenWith(open, it, left)
	call, sig, ok := ask.Pick(c.Book(it), open, it.Origin.Inbound.Text)
	i := slices.IndexFunc(c.live, func(question *liveAsk) bool { return question.id == call.ID })
	if !ok || i < 0 {
		return nil, ""
	}
	return c.live[i], sig.Answer
}
