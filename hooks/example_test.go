package hooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"agenthost/hooks"
)

// A hook in the process that keeps card numbers from the model, and a host that
// fires the point.
func Example() {
	registry := hooks.New(zerolog.Nop())
	mask := func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		text := strings.ReplaceAll(string(call.Args["message"]), "4111111111111111", "[card]")
		return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(text)}}, nil
	}
	remove, err := registry.Add(hooks.BeforeMessage, 10, "mask cards", mask, hooks.Options{FailClosed: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()

	call := hooks.Call{Hook: hooks.BeforeMessage, Agent: "ana"}
	if registry.Has(call.Hook) { // without a handler, the arguments need not be made
		call.Args = hooks.Args{"message": json.RawMessage(`{"text":"my card is 4111111111111111"}`)}
	}
	out := registry.Fire(context.Background(), call)
	fmt.Println(out.Action, string(out.Args["message"]))
	// Output: override {"text":"my card is [card]"}
}
