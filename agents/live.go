package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/clock"
	"agenthost/agents/internal/outbox"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/texts"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// A liveAsk is a question of a tool that is under way. Unlike one of a call that
// waits it does not outlive its host: the call would not either.
type liveAsk struct {
	id     string
	call   run.Call // in the shape of a question, to read answers by
	answer chan string
}

// ErrNobody tells that a question of a tool reaches nobody.
var ErrNobody = errors.New("there is nobody to ask")

// Ask asks the person behind a call that is under way. The time of the call
// stands still meanwhile.
func (f *Fleet) Ask(ctx context.Context, call tools.Call, prompt string, options []string) (string, error) {
	if r := f.Runtime(call.Agent); r != nil {
		if entry, ok := r.sessions.Get(session.Key(call.Session)); ok {
			return entry.Value.askLive(ctx, call, prompt, options)
		}
	}
	return "", ErrNobody
}

// Texts are the host's sentences for the person behind a call that is under way.
func (f *Fleet) Texts(call tools.Call) texts.Book {
	for _, r := range f.runtimes() {
		if r.ID() != call.Agent {
			continue
		}
		if entry, ok := r.sessions.Get(session.Key(call.Session)); ok {
			return entry.Value.textsOf(call.Run)
		}
		return r.now().texts
	}
	return texts.Book{}
}

// textsOf are those of the run under way, whose channel may have its own.
func (c *conversation) textsOf(run string) texts.Book {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.current; t != nil && t.id == run {
		return t.p.texts
	}
	return c.texts()
}

func (c *conversation) askLive(ctx context.Context, call tools.Call, prompt string, options []string) (string, error) {
	c.mu.Lock()
	t := c.current
	if t == nil || t.id != call.Run || c.r.shadow() {
		c.mu.Unlock()
		return "", ErrNobody
	}
	c.asked++
	n := c.asked
	question := &liveAsk{
		call:   run.Call{Asked: run.ForQuestion, Options: options, Wait: ask.NewToken()},
		answer: make(chan string, 1),
	}
	question.id = c.waitID(call.Run, question.call)
	c.live = append(c.live, question)
	c.watch().again()
	c.mu.Unlock()
	defer c.forgetAsk(question)
	if err := c.putLive(t, question, call, prompt, n); err != nil {
		return "", err
	}
	defer clock.Pause(ctx)()
	timer := time.NewTimer(t.p.cfg.Limits.ApprovalTimeout)
	defer timer.Stop()
	select {
	case answer := <-question.answer:
		return answer, nil
	case <-timer.C:
		return "", errors.New("no answer came in time")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// liveReply is where the numbers of such questions begin, out of the way of the
// run's replies.
const liveReply = 1000

// putLive puts the question where the person is, and where others look for it.
func (c *conversation) putLive(t *runner, question *liveAsk, call tools.Call, prompt string, n int) error {
	person := t.person()
	if person == nil {
		return ErrNobody
	}
	reply := &run.Reply{N: liveReply + n, Kind: run.KindQuestion, Text: prompt, Call: fmt.Sprint(call.ID, "?", n), Wait: question.call.Wait, Options: question.call.Options}
	if err := t.address(reply); err != nil {
		return err
	}
	c.send(&outbox.Batch{Replies: []*run.Reply{reply}, Trace: t.trace, End: func(bool) {}})
	return c.r.parts.asks.PutSoon(Waiting{
		ID: question.id, Agent: c.r.id, Session: string(c.key), Run: call.Run, Call: call.ID, Kind: run.ForQuestion, Tool: call.Name,
		Prompt: prompt, Options: question.call.Options, AskedAt: time.Now().UTC(), Origin: person,
		Model: t.lastModel(), Host: c.r.parts.Host, Approvers: c.r.now().cfg.Approvers,
	})
}

func (c *conversation) forgetAsk(question *liveAsk) {
	c.mu.Lock()
	c.live = slices.DeleteFunc(c.live, func(other *liveAsk) bool { return other == question })
	c.watch().again()
	c.mu.Unlock()
	c.r.parts.asks.DeleteEntry(question.id)
}

// answersLive gives it to the question of a tool that it answers, and reports
// whether it answers one. Called with the lock held.
func (c *conversation) answersLive(it *item) bool {
	for _, question := range c.live {
		text, ok := question.answeredBy(c.book(it), it, len(c.live) == 1)
		if !ok {
			continue
		}
		if it.origin.inbound != nil && len(question.call.Options) == 0 && c.hooked(hooks.BeforeMessage) {
			c.r.busy.Go(func() { c.passScreened(question, it) })
			return true
		}
		select {
		case question.answer <- text:
			return true
		default: // the first answer counts
		}
	}
	return false
}

// passScreened gives a question of a tool the answer that the before_message
// hooks leave. One that they refuse is answered with the reason.
func (c *conversation) passScreened(question *liveAsk, it *item) {
	s := c.screen(c.r.work, it, "")
	switch {
	case s == nil:
		s = &screening{origin: it.origin}
	case s.refused != "":
		c.say(it, run.Reply{Kind: run.KindNotice, Text: s.refused}, func(bool) {})
		return
	}
	select {
	case question.answer <- strings.TrimSpace(s.origin.inbound.Text):
	default: // the first answer counts
	}
}

// answeredBy reads it as the answer; only tells that no other question is open.
func (a *liveAsk) answeredBy(book texts.Book, it *item, only bool) (string, bool) {
	var text string
	switch route := it.origin.route; {
	case route != nil && (route.Kind != bus.RouteResult || route.CorrelationID != a.id || !it.throughDoor()):
		return "", false
	case route != nil:
		text = route.Text
	case it.origin.inbound.Answers != "" && it.origin.inbound.Answers != a.id:
		return "", false
	case it.origin.inbound.Answers == "" && (!only || order(it.origin.inbound) != "" || it.changes()):
		return "", false
	default:
		text = it.origin.inbound.Text
	}
	if strings.TrimSpace(text) == "" && (it.origin.inbound == nil || len(it.origin.inbound.Media) == 0) {
		return "", true // for the tool to judge: it may have a default
	}
	sig, ok := said(book, run.Signal{}, a.call, text, true)
	return sig.Answer, ok
}
