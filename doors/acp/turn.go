package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/doors"
	"agenthost/llm"
	"agenthost/run"
)

const (
	// lastFacts is how long the end of a run in its log may come behind its reply.
	lastFacts = 2 * time.Second
	// stopWithin is how long a run may take to stop, until its turn ends without it.
	stopWithin = 10 * time.Second
)

// errStopping ends a prompt whose program ends. The run goes on.
var errStopping = errors.New("agenthost acp ends; the run goes on, load the session to see its answer")

// A turn is a prompt and what comes of it.
type turn struct {
	agent *agent
	id    string // of the session

	cancelled  chan struct{} // closed by session/cancel
	cancelOnce sync.Once

	exchange *doors.Exchange
	mu       sync.Mutex // of what follows, and for the order of updates
	text     doors.Text
	finished map[string]bool // the runs whose end is in the log
	asked    map[string]bool // the calls whose question is in the log, by their ids at the editor
	news     chan struct{}   // closed when one of them grows
}

func (t *turn) update(u update) { t.agent.update(t.id, u) }

// run is the turn.
func (t *turn) run(ctx context.Context, r promptRequest) (any, error) {
	text, media, err := t.agent.content(ctx, r.Prompt)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(ctx)
	var others sync.WaitGroup // what asks, and what reads the log
	defer others.Wait()
	defer end(nil)
	if err := t.follow(ctx, &others); err != nil {
		return nil, err
	}
	q := questions{turn: t, end: end, seen: map[string]bool{}, work: &others}
	asked, err := t.send(ctx, q, doors.Request{
		Agent: t.agent.ID, Conversation: t.id, From: t.agent.opt.From, ID: r.Meta.ID, Text: text, Media: media,
	})
	if err != nil {
		return nil, err
	}
	defer t.exchange.Close()
	for _, w := range asked {
		q.ask(ctx, w.ID, nil)
	}
	others.Go(func() { t.stopWhenCancelled(ctx, end) })
	return t.result(ctx, q)
}

// send sends the prompt. Where the agent has put a question that any text answers, the
// prompt is the answer. asked are the approvals that wait from before.
func (t *turn) send(ctx context.Context, q questions, r doors.Request) (asked []client.Waiting, err error) {
	desk := t.agent.desk
	list, err := desk.Waiting(ctx, t.agent.place(t.id))
	if err != nil {
		return nil, err
	}
	for _, w := range list {
		if w.Kind != bus.KindQuestion || len(w.Options) > 0 || len(r.Media) > 0 {
			asked = append(asked, w)
			continue
		}
		if t.exchange, err = desk.Join(ctx, t.agent.place(t.id), w.Origin.ReplyTo); err != nil {
			return nil, err
		}
		q.seen[w.ID] = true
		if err = t.exchange.Answer(ctx, w.ID, r.Text); err != nil {
			t.exchange.Close()
		}
		return nil, err
	}
	t.exchange, err = desk.Send(ctx, r)
	return asked, err
}

// result goes on until the run has its reply.
func (t *turn) result(ctx context.Context, q questions) (any, error) {
	for ev, err := range t.exchange.Events(ctx) {
		switch {
		case err != nil:
			return t.ended(ctx, err)
		case ev.Chunk != nil:
			t.chunk(*ev.Chunk)
		case ev.Refused != nil:
			t.say(ev.Refused.Text)
		case ev.Out == nil: // a sign of life, which an editor does not need
		case ev.Out.Final:
			return t.final(ctx, ev.Out)
		case ev.Out.Kind == bus.KindApproval || ev.Out.Kind == bus.KindQuestion:
			q.ask(ctx, ev.Out.Call, t.awaitQuestion)
		default:
			t.say(ev.Out.Text)
		}
	}
	return t.ended(ctx, ctx.Err())
}

// The causes of an end before the reply.
var (
	errNotStopped = errors.New("the run has not stopped in time")
	errWithdrawn  = errors.New("the prompt was withdrawn before its turn")
	errLeftOpen   = errors.New("the run waits for an answer, which is the next prompt")
)

// ended is the result of a turn without a reply, of which err is the reason while ctx
// goes on.
func (t *turn) ended(ctx context.Context, err error) (any, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errNotStopped), errors.Is(cause, errWithdrawn):
		return promptResponse{cancelled}, nil
	case errors.Is(cause, errLeftOpen):
		return promptResponse{endTurn}, nil
	case cause == nil:
		return nil, err
	case errors.Is(cause, context.Canceled):
		return nil, errStopping
	default:
		return nil, cause
	}
}

// chunk shows what a model says or thinks, and how far a tool is.
func (t *turn) chunk(c client.Chunk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case c.Call != "":
		t.update(update{
			Kind: toolChanged, toolCall: toolCall{ID: callID(c.Run, c.Call), Status: inProgress}, Content: made(c.Progress),
		})
		return
	case c.Reasoning != "":
		t.update(update{Kind: thoughtChunk, Content: textBlock(c.Reasoning)})
	}
	if text := t.text.Chunk(c); text != "" {
		t.update(update{Kind: agentChunk, Content: textBlock(text)})
	}
}

// say shows what is no part of the reply.
func (t *turn) say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text != "" {
		t.update(update{Kind: agentChunk, Content: textBlock(text + "\n\n")})
	}
}

// final shows the rest of the reply, and says why the turn has ended.
func (t *turn) final(ctx context.Context, out *bus.Outbound) (any, error) {
	t.awaitLog(ctx, out.Run)
	reason, err := t.reason(out)
	switch {
	case reason == "":
		return nil, err
	case out.Error != nil || reason == cancelled:
		if out.Text != "" && reason != cancelled {
			t.say(out.Text)
		}
		return promptResponse{reason}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if rest := t.text.End(out.Text); rest != "" {
		t.update(update{Kind: agentChunk, Content: textBlock(rest)})
	}
	for _, m := range out.Media {
		uri := m.URL
		if m.Object != "" {
			uri = "agenthost:" + m.Object
		}
		t.update(update{Kind: agentChunk, Content: &block{Type: "resource_link", URI: uri, Name: m.Name, MIMEType: m.MIME}})
	}
	return promptResponse{reason}, nil
}

// reason is why a turn has ended; empty where that is an error.
func (t *turn) reason(out *bus.Outbound) (string, error) {
	select {
	case <-t.cancelled:
		return cancelled, nil
	default:
	}
	switch {
	case out.Error == nil && out.Cut:
		return maxTokens, nil
	case out.Error == nil:
		return endTurn, nil
	}
	switch llm.Code(out.Error.Code) {
	case llm.CodeCancelled:
		return cancelled, nil
	case llm.CodeContentFilter:
		return refusal, nil
	case llm.CodeTurnLimit:
		return maxTurnRequests, nil
	}
	return "", &rpcError{Code: codeInternal, Message: out.Text, Data: out.Error}
}

// stopWhenCancelled stops the run once the editor cancels the prompt.
func (t *turn) stopWhenCancelled(ctx context.Context, end context.CancelCauseFunc) {
	select {
	case <-t.cancelled:
	case <-ctx.Done():
		return
	}
	withdrawn, err := t.exchange.Cancel(ctx)
	switch {
	case withdrawn: // no reply will come
		end(errWithdrawn)
		return
	case err != nil:
		t.agent.opt.Log.Warn().Err(err).Msg("cancel the prompt: failed")
	}
	select {
	case <-time.After(stopWithin):
		end(errNotStopped)
	case <-ctx.Done():
	}
}

// follow shows the tools of the session from now on, as its log tells of them.
func (t *turn) follow(ctx context.Context, others *sync.WaitGroup) error {
	sid, err := t.agent.sid(t.id)
	if err != nil {
		return err
	}
	t.finished, t.asked, t.news = map[string]bool{}, map[string]bool{}, make(chan struct{})
	ready := make(chan error, 1)
	others.Go(func() {
		for f, err := range t.agent.desk.Client().Sessions().Follow(ctx, t.agent.ID, sid, func() { ready <- nil }) {
			if err != nil {
				select {
				case ready <- err:
				default: // the reply comes also without the tools
					t.agent.opt.Log.Warn().Err(err).Msg("follow the tools")
				}
				return
			}
			t.fact(f)
		}
	})
	select {
	case err := <-ready:
		if err != nil {
			return fmt.Errorf("%w: %w", doors.ErrAway, err)
		}
		return nil
	case <-ctx.Done():
		return errStopping
	}
}

func (t *turn) fact(f client.Fact) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u, ok := toolUpdate(f); ok {
		t.update(u)
	}
	switch e := f.Event; e.Type {
	case run.Finished:
		t.finished[e.Run] = true
	case run.ApprovalAsked, run.QuestionAsked:
		t.asked[callID(f.Of, e.Call)] = true
	default:
		return
	}
	close(t.news)
	t.news = make(chan struct{})
}

// awaitLog waits until the updates of a run's tools are out: nothing comes for a prompt
// behind its response.
func (t *turn) awaitLog(ctx context.Context, id string) { t.await(ctx, t.finished, id) }

// awaitQuestion waits until the editor knows of the call that asks: its question comes by
// another way than its log, and may end the prompt. The log of a delegate is not followed.
func (t *turn) awaitQuestion(ctx context.Context, w client.Waiting) {
	if w.Agent == t.agent.ID && w.Session == t.agent.desk.Key(t.agent.place(t.id)) {
		t.await(ctx, t.asked, callID(w.Run, w.Call))
	}
}

// await waits until a set, which grows with what the log tells, has an id.
func (t *turn) await(ctx context.Context, set map[string]bool, id string) {
	late := time.NewTimer(lastFacts)
	defer late.Stop()
	for {
		t.mu.Lock()
		done, news := set[id], t.news
		t.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
