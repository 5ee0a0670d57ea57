package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"agenthost/llm"
)

// A rules provider answers by a table, in one delta and a finish.
type rules map[string]string

func (r rules) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		switch answer, ok := r[req.LastText()]; {
		case ctx.Err() != nil:
			yield(llm.Delta{}, llm.Stopped(ctx))
		case !ok:
			yield(llm.Delta{}, &llm.Error{Code: llm.CodeValidation, Err: errors.New("no rule fits")})
		default:
			_ = yield(llm.Delta{Text: answer}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
		}
	}
}

// A provider is a sequence of deltas; a Builder puts them together.
func ExampleProvider() {
	var provider llm.Provider = rules{"hello": "Good day!"}
	var b llm.Builder
	for delta, err := range provider.Stream(context.Background(), llm.Request{Messages: []llm.Message{llm.UserText("hello")}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		b.Add(delta)
	}
	fmt.Println(b.Message().Text(), b.Finish())
	// Output: Good day! stop
}
