package openai

import (
	"cmp"
	"encoding/json"
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
)

// An answer turns one response body into deltas.
type answer struct {
	body  *llm.Body
	yield func(llm.Delta, error) bool
	names *llm.ToolNames

	calls       calls
	thoughts    thoughts
	generations llm.Generations
	said        bool
	refused     bool
	finish      llm.Finish
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

func (a *answer) plain() error {
	data, err := io.ReadAll(a.body)
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
		return llm.ErrLeft
	}
	return nil
}

func (a *answer) finished(reason string) error {
	ended := a.finish != ""
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
	if !ended {
		a.body.HangUpAfter(afterFinish)
	}
	return nil
}

// end gives the last delta. Servers differ in the reason they give for calling
// a tool; that there is a call is what counts. A refusal ends with stop.
func (a *answer) end() error {
	switch a.finish {
	case "":
		return llm.Unavailable(llm.ErrCut)
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
