package openai

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"agenthost/llm"
)

// How long we wait for what a server may still have to say: after the finish,
// the usage; after [DONE], nothing but the end of the body, which frees the
// connection for the next call.
const (
	afterFinish = 2 * time.Second
	afterDone   = 50 * time.Millisecond
	afterStatus = 5 * time.Second // for the text of an error

	longestAnswer = 32 << 20 // of a server that does not stream
)

// An answer turns one response body into deltas.
type answer struct {
	yield  func(llm.Delta, error) bool
	names  *llm.ToolNames
	hangUp func() // ends the reading

	calls       calls
	thoughts    thoughts
	generations llm.Generations
	said        bool
	refused     bool
	finish      llm.Finish
	lull        *time.Timer // hangs up; set once there is a finish
}

// read gives all deltas. A server that ignored stream:true is told by its first
// byte, as content types lie.
func (a *answer) read(body io.Reader) error {
	r := bufio.NewReader(body)
	first, err := firstByte(r)
	if err != nil {
		return llm.Unavailable(cmp.Or(ignoreEOF(err), errCut))
	}
	defer a.stopLull()
	switch first {
	case '{':
		err = a.plain(r)
	case '<':
		err = llm.Unavailable(errNoAnswer)
	default:
		err = a.events(r)
	}
	if err != nil {
		return err
	}
	drain(body)
	return a.end()
}

func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b > ' ' {
			return b, r.UnreadByte()
		}
	}
}

func (a *answer) plain(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, longestAnswer))
	if err != nil {
		return llm.Unavailable(err)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return llm.Unavailable(fmt.Errorf("read answer: %w", err))
	}
	if len(c.Choices) == 0 && c.fault() == nil {
		return llm.Unavailable(errNoAnswer)
	}
	return a.add(c)
}

func (a *answer) add(c chunk) error {
	if fault := c.fault(); fault != nil {
		return fault.streamed()
	}
	if len(c.Choices) == 0 {
		return a.give(llm.Delta{Usage: c.Usage.usage()})
	}
	// Only one choice is asked for.
	ch := c.Choices[0]
	s := cmp.Or(ch.Delta, ch.Message, &said{})
	says := s.Content != "" || s.Refusal != "" || len(s.Calls) > 0
	if a.generations.Another(string(c.ID), says, a.finish != "") {
		return llm.Unavailable(llm.ErrTwoGenerations)
	}
	a.refused = a.refused || s.Refusal != ""
	d := llm.Delta{
		Text:      cmp.Or(string(s.Content), string(s.Refusal)),
		Reasoning: a.thoughts.add(s),
		Usage:     cmp.Or(c.Usage, ch.Usage).usage(),
	}
	if err := a.give(d); err != nil {
		return err
	}
	for _, image := range s.Images {
		if err := a.give(llm.Delta{Media: made(image.URL.URL)}); err != nil {
			return err
		}
	}
	for i, t := range s.Calls {
		if err := a.give(llm.Delta{Call: a.calls.delta(t, i, len(s.Calls), a.names)}); err != nil {
			return err
		}
	}
	return a.finished(string(ch.Finish))
}

// give keeps back what says nothing; what says something else than reasoning
// ends the thoughts.
func (a *answer) give(d llm.Delta) error {
	spoke := d.Text != "" || d.Call != nil || d.Media != nil
	said := spoke || d.Reasoning != ""
	if !said && d.Usage == nil {
		return nil
	}
	if spoke {
		d.Meta = a.thoughts.meta()
	}
	a.said = a.said || said
	if !a.yield(d, nil) {
		return errLeft
	}
	return nil
}

func (a *answer) finished(reason string) error {
	switch strings.ToLower(reason) {
	case "":
		return nil
	case "error", "abort", "network_error", "insufficient_system_resource":
		return llm.Unavailable(fmt.Errorf("model ended with %q", reason))
	case "length", "max_tokens", "model_length":
		a.finish = llm.FinishLength
	case "content_filter", "safety", "sensitive":
		a.finish = llm.FinishContentFilter
	default:
		a.finish = llm.FinishStop
	}
	if a.lull == nil {
		a.lull = time.AfterFunc(afterFinish, a.hangUp)
	}
	return nil
}

func (a *answer) stopLull() {
	if a.lull != nil {
		a.lull.Stop()
	}
}

// end gives the last delta. Servers differ in the reason they give for calling
// a tool; that there is a call is what counts. A refusal ends with stop.
func (a *answer) end() error {
	switch a.finish {
	case "":
		return llm.Unavailable(errCut)
	case llm.FinishStop:
		if len(a.calls) > 0 {
			a.finish = llm.FinishToolCalls
		} else if a.refused {
			a.finish = llm.FinishContentFilter
		}
	}
	a.yield(llm.Delta{Meta: a.thoughts.meta(), Finish: a.finish}, nil)
	return nil
}

// ignoreEOF makes nothing of the end of a body; what is missing is told
// elsewhere.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
