package conversation

import (
	"context"

	"agenthost/agents/internal/liveask"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/runner"
	"agenthost/internal/texts"
	"agenthost/run"
	"agenthost/tools"
)

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
	c.mu.Lock()
	t := c.asker(call)
	c.mu.Unlock()
	if t == nil {
		return "", liveask.ErrNoPerson
	}
	wait := run.Wait{For: run.ForQuestion, Prompt: prompt, Options: options}
	if err := t.Tools.CheckSendable(run.Call{ID: call.ID, Name: call.Name}, &wait); err != nil {
		return "", err
	}
	defer c.lookAgain()
	by := liveask.Asker{Run: &t.Run, Word: t.Tools.Word, Send: c.out.Send}
	by.While = func(put func(newest uint64)) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.asker(call) != t {
			return false
		}
		put(c.newest)
		c.watch().Again()
		return true
	}
	return c.live.Ask(ctx, by, call, prompt, options)
}

// asker is the run of a tool at work that may ask a person. Called with the lock held.
func (c *Conversation) asker(call tools.Call) *runner.Runner {
	t := c.current
	if t == nil || t.ID != call.Run || c.Agent.Now().Shadow() || c.shared.Yielding.Load() {
		return nil
	}
	return t
}

// lookAgain has the run under way look at all of the queue once more.
func (c *Conversation) lookAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch().Again()
}

// Asks reports whether a tool that runs waits for the answer to its question: only this
// host can pass that on.
func (c *Conversation) Asks() bool { return c.live.Any() }

// DismissAsks ends the questions of tools that wait. The lane is known to go to another host by
// then, so that none is put after that: the lock keeps apart from this what is being put.
func (c *Conversation) DismissAsks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live.Dismiss()
}

// answersLive gives it to the question of a tool that it answers, and reports whether it
// answers one; left is the run at work. Called with the lock held.
func (c *Conversation) answersLive(it *message.Item, left *run.Run) bool {
	screen, ok := c.live.Take(it, left)
	if screen != nil {
		c.shared.Busy.Go(func() {
			if refused := screen(); refused != "" {
				c.out.Say(it, run.Reply{Kind: run.KindNotice, Text: refused})
			}
		})
	}
	return ok
}
