package doctor

import (
	"context"
	"slices"

	"agenthost/internal/build"
	"agenthost/llm"
	"agenthost/plugins/settings"

	"github.com/rs/zerolog"
)

// TryModel asks the server of a model whether it is there, takes the key and has the
// model. It returns what it lists.
func TryModel(ctx context.Context, c llm.Config) (has bool, names []string, err error) {
	p, err := build.Provider(c)
	if err != nil {
		return false, nil, err
	}
	if c.Provider == "echo" || c.Provider == "scripted" {
		return true, nil, nil
	}
	names, err = namesOf(ctx, p)
	return slices.Contains(names, c.Model), names, err
}

// TryAccount logs an account of a channel in, and returns as whom. One that logs in
// nowhere, such as the chat page, is nobody's.
func TryAccount(ctx context.Context, e settings.Entry) (as string, err error) {
	if e.Channel == webChannel {
		return "", nil
	}
	channel, err := build.Channel(e, nil, zerolog.Nop())
	if err != nil {
		return "", err
	}
	if c, ok := channel.(interface {
		Check(ctx context.Context) (string, error)
	}); ok {
		return c.Check(ctx)
	}
	return "", nil
}
