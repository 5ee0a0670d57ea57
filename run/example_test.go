package run_test

import (
	"encoding/json"
	"fmt"
	"time"

	"agenthost/llm"
	"agenthost/run"
)

// A conductor performs the effects in their order; here one that has a clock
// for a tool and a model of two sentences.
func ExampleStep() {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	question := llm.UserText("what time is it?")
	call := llm.Part{Type: llm.ToolCall, Call: "c1", Name: "now", Args: json.RawMessage("{}")}
	model := []llm.Message{
		{Parts: []llm.Part{call}},
		{Parts: []llm.Part{{Type: llm.Text, Text: "It is noon."}}},
	}

	var state run.State
	signals := []run.Signal{{Kind: run.Submit, Run: "r1", Message: &question}}
	for len(signals) > 0 {
		sig := signals[0]
		sig.At = at
		var effects []run.Effect
		state, effects = run.Step(state, sig, run.Limits{})
		signals = signals[1:]
		for _, e := range effects {
			switch e.Kind {
			case run.Commit:
				fmt.Printf("write %d events, the last is %s\n", len(e.Events), e.Events[len(e.Events)-1].Type)
			case run.InvokeModel:
				signals = append(signals, run.Signal{Kind: run.StreamEnd, Message: &model[0]})
				model = model[1:]
			case run.RunTool:
				fmt.Println("run", e.Call.Name)
				result := at.Format(time.Kitchen)
				signals = append(signals, run.Signal{Kind: run.ToolSettled, Call: e.Call.ID, OK: true, Result: result})
			case run.Publish:
				fmt.Println("say", e.Reply.Text)
			}
		}
	}
	fmt.Println(state.Phase)
	// Output:
	// write 4 events, the last is tool.requested
	// run now
	// write 1 events, the last is tool.finished
	// write 3 events, the last is run.finished
	// say It is noon.
	// settled
}
