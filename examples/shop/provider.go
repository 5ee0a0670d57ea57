package main

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"agenthost/llm"
)

// A rules provider stands where others call a model. It asks the tool for each
// day that a message names, and repeats everything else.
type rules struct{}

// Stream answers in one delta and a finish.
func (rules) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(llm.Delta{}, llm.Stopped(ctx))
			return
		}
		answer, finish := decide(req)
		_ = yield(answer, nil) && yield(llm.Delta{Finish: finish}, nil)
	}
}

func decide(req llm.Request) (llm.Delta, llm.Finish) {
	if last := req.Messages[len(req.Messages)-1]; last.Role != llm.User {
		return llm.Delta{Text: "We are open: " + last.Parts[0].Text}, llm.FinishStop
	}
	for _, day := range days {
		if strings.Contains(req.LastText(), day) {
			args, _ := json.Marshal(hoursArgs{Day: day}) // a string always has JSON
			return llm.Delta{Call: &llm.CallDelta{Name: openingHours.Name, Args: string(args)}}, llm.FinishToolCalls
		}
	}
	return llm.Delta{Text: "You said: " + req.LastText()}, llm.FinishStop
}
