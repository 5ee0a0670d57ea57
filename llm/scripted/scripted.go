// Package scripted is a model that says what a YAML file tells it to: for
// tests, demos and replays that have to come out the same every time.
//
// A script is a list of rules. Each call of the model is answered by the first
// rule that fits the conversation:
//
//	rules:
//	  - when: weather               # the last user text contains it, in any case of letters
//	    tool_calls:
//	      - {name: weather, args: {city: Paris}}
//	  - after_tool: weather         # its result has just come back
//	    text: "It says: ${result}"
//	  - is: ping                    # the last user text is exactly this
//	    times: 2                    # fits twice, then never again
//	    error: {status: 503, retry_after: 1s}
//	  - match: '^(?i)tell me'       # a regular expression
//	    delay: 300ms                # before each piece of the answer, and before it breaks
//	    chunks: ["Once ", "upon ", "a time."]
//	    cut: true                   # and there the stream breaks
//	  - text: "You said: ${text}"   # without a condition: fits always
//
// All conditions of a rule must hold. Right after a tool result only rules with
// after_tool fit ("*" is any tool), or a rule that calls a tool would call it
// for ever. When no rule fits, the stream is a validation error that quotes the
// text.
//
// An answer is, in this order and each part optional: reasoning; text, or
// chunks, one delta each; media (mime, with base64 or file); tool_calls; then its end: error, cut, or finish (stop,
// or tool_calls if there are any) with usage (input, output, cache_read,
// cache_write, reasoning). "${text}" and "${result}" stand for the last user
// text and the last tool result, in the arguments of a tool too. Arguments
// written as a string are sent as they are, so they need not be JSON. A call
// without an id gets one that the conversation has not seen. An error has a
// status, which decides what kind it is unless code does, and may have
// retry_after, message, transient and too_long.
package scripted

import (
	"context"
	"iter"
	"time"

	"agenthost/llm"
)

// A Provider plays one script. It is safe for concurrent use; calls that run
// at the same time share the times of a rule.
type Provider struct {
	rules []*rule
}

// Stream answers req by the first rule that fits. It waits as long as the
// rule's delays say, or until ctx ends.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(llm.Delta{}, llm.Stopped(ctx))
			return
		}
		s := situationOf(req)
		r := p.pick(s)
		if r == nil {
			yield(llm.Delta{}, &llm.Error{Code: llm.CodeValidation, Err: s.noRule()})
			return
		}
		if p, ok := s.resultOf(r.AfterTool); ok {
			s.result = p.Text
		}
		for _, d := range r.deltas(s) {
			if err := wait(ctx, r.Delay); err != nil {
				yield(llm.Delta{}, err)
				return
			}
			if !yield(d, nil) {
				return
			}
		}
		yield(r.end(ctx, s))
	}
}

func (p *Provider) pick(s situation) *rule {
	for _, r := range p.rules {
		if r.fits(s) && r.take() {
			return r
		}
	}
	return nil
}

// wait returns nil or, as an error, an *llm.Error.
func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return llm.Stopped(ctx)
	}
	return nil
}
