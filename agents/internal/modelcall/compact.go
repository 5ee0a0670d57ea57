package modelcall

import (
	"context"
	"errors"
	"slices"

	"agenthost/llm"
	"agenthost/run"
)

// summarise is what the model is asked to do with the old part of a
// conversation.
const summarise = "Summarise the conversation so far for your own later use: facts, names, numbers, decisions, open " +
	"points, and what the people want. Leave out greetings. Use no tools. Write plain text."

// mostPieces bounds what one compaction may cost. A conversation that takes
// more was kept for a model with a much larger window; its beginning goes.
const mostPieces = 8

var errNoSummary = errors.New("the model wrote no summary")

// Compact has the model sum up the oldest messages: in one go when they fit,
// else one piece after the other, each with the summary of those before.
func (t *Caller) Compact(ctx context.Context, e run.Effect) run.Signal {
	req := t.request(ctx)
	called := t.newMeter()
	end := run.Signal{Kind: run.CompactEnd}
	for _, piece := range toSumUp(t.Journal.State().Messages[:e.Through:e.Through], e) {
		if end.Summary != "" {
			piece = append([]llm.Message{run.Summary(end.Summary)}, piece...)
		}
		req.Messages = append(slices.Clip(piece), llm.UserText(summarise))
		var err error
		if end.Summary, err = t.sumUp(ctx, req, called); err != nil {
			if sig, ok := called.refused(err); ok {
				return sig
			}
			t.Log().Warn().Err(err).Msg("conversation cannot be summed up; its oldest part is left out")
			end.Error = &run.Error{Code: llm.CodeCompactionFailed}
			break
		}
	}
	end.Called = called.events
	return end
}

// toSumUp is old in pieces that fit, an earlier summary always among them.
func toSumUp(old []llm.Message, e run.Effect) [][]llm.Message {
	shown := run.Shown(old, e.Short, 0)
	if run.Estimate(shown) <= e.Room {
		return [][]llm.Message{shown}
	}
	// The summary so far comes before each piece, and a question behind it.
	pieces := run.Pieces(run.Shown(old, len(old), 0), max(e.Room*3/4, 1))
	if over := len(pieces) - mostPieces; over > 0 {
		first := pieces[0][:1]
		if pieces = pieces[over:]; run.IsSummary(first[0]) {
			pieces[0] = append(first[:1:1], pieces[0]...)
		}
	}
	return pieces
}

func (t *Caller) sumUp(ctx context.Context, req llm.Request, called *meter) (string, error) {
	msg, _, err := t.collect(ctx, req, called)
	if err == nil && msg.Text() == "" {
		err = errNoSummary
	}
	return msg.Text(), err
}
