package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"agenthost/llm"
)

// How long we wait for what a server may still have to say: after the reason to
// stop, the end of the message; after that, nothing but the end of the body,
// which frees the connection for the next call.
const (
	afterFinish = 2 * time.Second
	afterEnd    = 50 * time.Millisecond
)

// An answer turns one response body into deltas.
type answer struct {
	body  *llm.Body
	yield func(llm.Delta, error) bool
	names *llm.ToolNames

	event  event // the last one, to be used for the next
	id     json.RawMessage
	usage  wireUsage
	blocks []*openBlock
	calls  int
	said   bool
	finish llm.Finish
}

// read gives all deltas. A server that ignored stream:true is told by its first
// byte, as content types lie.
func (a *answer) read() error {
	first, err := a.body.First()
	if err != nil {
		return err
	}
	switch first {
	case '{':
		err = a.plain()
	case '<':
		err = llm.Unavailable(errNoAnswer)
	default:
		err = a.events()
	}
	if err != nil {
		return err
	}
	a.body.Drain()
	return a.end()
}

// plain reads a whole message in one piece.
func (a *answer) plain() error {
	data, err := io.ReadAll(a.body)
	if err != nil {
		return llm.Unavailable(err)
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return llm.Unavailable(fmt.Errorf("read answer: %w", err))
	}
	switch {
	case m.Error != nil:
		return m.Error.streamed()
	case m.Type != "message":
		return llm.Unavailable(errNoAnswer)
	}
	if err := a.count(m.Usage); err != nil {
		return err
	}
	for i, b := range m.Content {
		if err := a.begin(i, b); err != nil {
			return err
		}
		if err := a.close(a.block(i)); err != nil {
			return err
		}
	}
	return a.stop(m.Stop)
}

// events reads to the end of the message, or to that of the body after a reason
// to stop.
func (a *answer) events() error {
	for e, err := range a.body.Events() {
		if err != nil {
			return err
		}
		if err := a.add(e); err != nil {
			return err
		}
		if a.event.Type == "message_stop" {
			return a.ended()
		}
	}
	return nil
}

// add passes over the events it does not know: the API may have more of them
// any day.
func (a *answer) add(e llm.ServerEvent) error {
	a.event = event{}
	if e.Name == "error" {
		return errorEvent(e.Data)
	}
	if len(e.Data) == 0 || string(e.Data) == "[DONE]" { // of gateways that know nothing else
		return nil
	}
	if err := json.Unmarshal(e.Data, &a.event); err != nil {
		return llm.Unavailable(fmt.Errorf("read event: %w", err))
	}
	ev := &a.event
	switch {
	case ev.Error != nil || ev.Type == "error":
		return errorEvent(e.Data)
	case ev.Type == "message_start":
		if err := a.start(ev.Message.ID); err != nil {
			return err
		}
		return a.count(ev.Message.Usage)
	case ev.Type == "content_block_start":
		return a.begin(ev.Index, ev.Block)
	case ev.Type == "content_block_delta":
		return a.more(ev.Index, &ev.Delta)
	case ev.Type == "content_block_stop":
		return a.close(a.block(ev.Index))
	case ev.Type == "message_delta":
		if err := a.count(ev.Usage); err != nil {
			return err
		}
		return a.stop(ev.Delta.Stop)
	}
	return nil
}

// start takes the id of a message. Another one amid a message is that of a
// gateway that began again: with both parts its calls would be made twice. Before
// anything has come it does no harm.
func (a *answer) start(id json.RawMessage) error {
	if text := string(id); text == "" || text == "null" || text == `""` {
		return nil
	}
	if len(a.id) > 0 && len(a.blocks) > 0 && !bytes.Equal(a.id, id) {
		return llm.Unavailable(llm.ErrTwoGenerations)
	}
	a.id = id
	return nil
}

// ended takes the end of a message for a finish when the server has given no
// reason but an answer.
func (a *answer) ended() error {
	if a.finish == "" && a.said {
		if err := a.stop("end_turn"); err != nil {
			return err
		}
	}
	a.body.HangUpAfter(afterEnd)
	return nil
}

func (a *answer) count(u wireUsage) error {
	if u == (wireUsage{}) {
		return nil
	}
	a.usage.add(u)
	return a.give(llm.Delta{Usage: a.usage.usage()})
}

func (a *answer) give(d llm.Delta) error {
	a.said = a.said || d.Usage == nil
	if !a.yield(d, nil) {
		return llm.ErrLeft
	}
	return nil
}

// stop also closes what the server left open.
func (a *answer) stop(reason string) error {
	if reason == "" {
		return nil
	}
	for _, b := range a.blocks {
		if err := a.close(b); err != nil {
			return err
		}
	}
	ended := a.finish != ""
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		a.finish = llm.FinishLength
	case "refusal":
		a.finish = llm.FinishContentFilter
	default:
		a.finish = llm.FinishStop
	}
	if !ended {
		a.body.HangUpAfter(afterFinish)
	}
	return nil
}

// end gives the last delta. That there is a call is what counts, whatever the
// reason the server gave.
func (a *answer) end() error {
	switch a.finish {
	case "":
		return llm.Unavailable(llm.ErrCut)
	case llm.FinishStop:
		if a.calls > 0 {
			a.finish = llm.FinishToolCalls
		}
	}
	a.yield(llm.Delta{Finish: a.finish}, nil)
	return nil
}
