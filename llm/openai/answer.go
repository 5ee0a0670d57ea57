package openai

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// An answer turns one response body into deltas.
type answer struct {
	*httpapi.Answer

	calls    calls
	thoughts thoughts
	refused  bool
}

// Whole reads the answer of a server that does not stream.
func (a *answer) Whole(_ byte, r io.Reader) error {
	var c chunk
	if err := httpapi.ReadWhole(r, &c); err != nil {
		return err
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
	if err := a.Continues(string(c.ID), says); err != nil {
		return err
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
		if err := a.give(llm.Delta{Call: a.calls.delta(t, i, len(s.Calls), a.Names)}); err != nil {
			return err
		}
	}
	return a.finished(string(ch.Finish))
}

// give keeps back what says nothing; what says something else than reasoning
// ends the thoughts.
func (a *answer) give(d llm.Delta) error {
	spoke := d.Text != "" || d.Call != nil || d.Media != nil
	if !spoke && d.Reasoning == "" && d.Usage == nil {
		return nil
	}
	if spoke {
		d.Meta = a.thoughts.meta()
	}
	return a.Give(d)
}

func (a *answer) finished(reason string) error {
	switch strings.ToLower(reason) {
	case "":
	case "error", "abort", "network_error", "insufficient_system_resource":
		return llm.Unavailable(fmt.Errorf("model ended with %q", reason))
	case "length", "max_tokens", "model_length":
		a.Finish(llm.FinishLength)
	case "content_filter", "safety", "sensitive":
		a.Finish(llm.FinishContentFilter)
	default:
		a.Finish(llm.FinishStop)
	}
	return nil
}

// Last ends the thoughts. A refusal ends with stop.
func (a *answer) Last() llm.Delta {
	last := llm.Delta{Meta: a.thoughts.meta()}
	if a.refused {
		last.Finish = llm.FinishContentFilter
	}
	return last
}
