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

	host     string // the server's
	calls    calls
	tags     tags
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
	usage := cmp.Or(c.Usage, c.Groq.Usage)
	if len(c.Choices) == 0 {
		return a.give(llm.Delta{Usage: usage.usage()})
	}
	// Only one choice is asked for.
	ch := c.Choices[0]
	s := cmp.Or(ch.Delta, ch.Message, &said{})
	says := s.Content.text != "" || s.Refusal != "" || len(s.Calls) > 0
	if err := a.Continues(string(c.ID), says); err != nil {
		return err
	}
	if says && a.Finished() { // some say in every chunk that they have finished
		a.Linger()
	}
	if err := a.give(a.delta(s, cmp.Or(usage, ch.Usage))); err != nil {
		return err
	}
	if err := a.Keep(a.thoughts.news()); err != nil {
		return err
	}
	if err := a.others(s); err != nil {
		return err
	}
	return a.finished(string(ch.Finish))
}

// delta is what s has of text and reasoning.
func (a *answer) delta(s *said, usage *wireUsage) llm.Delta {
	a.refused = a.refused || s.Refusal != ""
	text, thought := a.tags.split(s.Content.text)
	d := llm.Delta{
		Text:      cmp.Or(text, string(s.Refusal)),
		Reasoning: cmp.Or(a.thoughts.add(s), a.thoughts.tagged(thought)),
		Usage:     usage.usage(),
	}
	return d
}

// others gives what s has beside text and reasoning.
func (a *answer) others(s *said) error {
	if len(s.Images) > 0 || len(s.Calls) > 0 {
		if err := a.give(a.held()); err != nil {
			return err
		}
	}
	for _, image := range s.Images {
		if err := a.give(llm.Delta{Media: made(image.URL.URL)}); err != nil {
			return err
		}
	}
	for i, t := range s.Calls {
		if err := a.give(llm.Delta{Call: a.calls.delta(t, i, len(s.Calls), a.Names, a.host)}); err != nil {
			return err
		}
	}
	return nil
}

// held is the text that was held back as it might have been a tag.
func (a *answer) held() llm.Delta {
	text, thought := a.tags.rest()
	return llm.Delta{Text: text, Reasoning: a.thoughts.tagged(thought)}
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

// finished notes why the model stopped. A reason we do not know has ended an answer
// all the same; those in capitals are Google's.
func (a *answer) finished(reason string) error {
	switch strings.ToLower(reason) {
	case "", "null":
	case "error", "abort", "network_error", "insufficient_system_resource",
		"malformed_function_call", "unexpected_tool_call", "malformed_response":
		return llm.Unavailable(fmt.Errorf("model ended with %q", reason))
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		a.Finish(llm.FinishLength)
	case "content_filter", "safety", "sensitive", "refusal", "recitation", "blocklist", "prohibited_content", "spii":
		a.Finish(llm.FinishContentFilter)
	default:
		a.Finish(llm.FinishStop)
	}
	return nil
}

// Last ends the thoughts. A refusal ends with stop.
func (a *answer) Last() llm.Delta {
	last := a.held()
	last.Meta = a.thoughts.meta()
	if a.refused {
		last.Finish = llm.FinishContentFilter
	}
	return last
}
