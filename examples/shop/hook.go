package main

import (
	"context"
	"encoding/json"
	"regexp"

	"agenthost/hooks"
)

var card = regexp.MustCompile(`\b\d{16}\b`)

// maskCards takes card numbers out of a message before anything of it is stored.
func maskCards(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
	message := call.Args["message"]
	if !card.Match(message) {
		return hooks.Outcome{}, nil
	}
	masked := hooks.Args{"message": json.RawMessage(card.ReplaceAll(message, []byte("[card]")))}
	return hooks.Outcome{Action: hooks.Override, Args: masked}, nil
}
