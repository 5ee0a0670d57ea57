package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// An answer turns one response body into deltas.
type answer struct {
	*httpapi.Answer

	event  event // the last one, to be used for the next
	id     json.RawMessage
	usage  wireUsage
	blocks []*openBlock
	calls  int
}

// Whole reads the message of a server that does not stream.
func (a *answer) Whole(_ byte, r io.Reader) error {
	var m message
	if err := httpapi.ReadWhole(r, &m); err != nil {
		return err
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
	return a.stop(string(m.Stop))
}

// Event takes one event; that of the end of the message is the last.
func (a *answer) Event(e httpapi.Event) (done bool, err error) {
	if err := a.add(e); err != nil {
		return false, err
	}
	if a.event.Type == "message_stop" {
		return true, a.ended()
	}
	return false, nil
}

// add passes over the events it does not know: the API may have more of them
// any day.
func (a *answer) add(e httpapi.Event) error {
	a.event = event{}
	if e.Name == "error" {
		return errorEvent(e.Data)
	}
	if len(e.Data) == 0 || string(e.Data) == "[DONE]" { // of gateways that know nothing else
		return nil
	}
	if err := readEvent(e.Data, &a.event); err != nil {
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
		return a.begin(int(ev.Index), ev.Block)
	case ev.Type == "content_block_delta":
		return a.more(int(ev.Index), &ev.Delta)
	case ev.Type == "content_block_stop":
		return a.close(a.block(int(ev.Index)))
	case ev.Type == "message_delta":
		if err := a.count(ev.Usage); err != nil {
			return err
		}
		return a.stop(string(ev.Delta.Stop))
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
		return llm.Unavailable(httpapi.ErrTwoGenerations)
	}
	a.id = id
	return nil
}

// ended takes the end of a message for a finish when the server has given no
// reason but an answer.
func (a *answer) ended() error {
	if !a.Finished() && a.Said() {
		if err := a.stop("end_turn"); err != nil {
			return err
		}
	}
	a.Done()
	return nil
}

func (a *answer) count(u wireUsage) error {
	if u == (wireUsage{}) {
		return nil
	}
	a.usage.add(u)
	return a.Give(llm.Delta{Usage: a.usage.usage()})
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
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		a.Finish(llm.FinishLength)
	case "refusal":
		a.Finish(llm.FinishContentFilter)
	default:
		a.Finish(llm.FinishStop)
	}
	return nil
}

// Last is empty: everything was given.
func (a *answer) Last() llm.Delta { return llm.Delta{} }
