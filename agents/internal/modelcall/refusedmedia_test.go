package modelcall

import (
	"context"
	"errors"
	"iter"
	"testing"

	"agenthost/agents"
	"agenthost/llm"
)

// seeing is a model that sees images, or refuses requests with some.
type seeing bool

func (s seeing) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := 0
		for _, m := range req.Messages {
			n += len(m.Media())
		}
		switch {
		case n > 0 && !bool(s):
			yield(llm.Delta{}, llm.StatusError(400, nil, errors.New("no images")))
		case n > 0:
			_ = yield(llm.Delta{Text: "seen"}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
		default:
			_ = yield(llm.Delta{Text: "hidden"}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
		}
	}
}

func chainOf(model string, provider llm.Provider) *llm.Chain {
	return &llm.Chain{Links: []llm.Link{{Name: "test", Model: model, Provider: provider}}}
}

// What one model has refused is shown to another: to one that a hook has chosen, and to one that
// has its name in the configuration by now.
func TestAnotherModelIsShownWhatOneRefused(t *testing.T) {
	t.Parallel()
	c := caller(agents.Config{Model: []string{"main"}}, nil)
	req := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
		{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "https://example.org/a.png"}},
	}}}}
	ask := func(chosen *llm.Chain) (said string) {
		m := c.newMeter()
		m.models = chosen
		if err := c.converse(t.Context(), req, m, func(d llm.Delta) { said += d.Text }); err != nil {
			t.Fatal(err)
		}
		return said
	}
	blind, sighted := chainOf("blind", seeing(false)), chainOf("sighted", seeing(true))
	c.Profile.Chain = blind
	for _, tt := range []struct {
		who, want string
		chosen    *llm.Chain
		reload    *llm.Chain
	}{
		{who: "the model", want: "hidden"},
		{who: "the model of a hook", chosen: sighted, want: "seen"},
		{who: "the model again", want: "hidden"},
		{who: "the model after a reload", reload: sighted, want: "seen"},
		{who: "another model of a hook", chosen: blind, want: "hidden"},
		{who: "the model after that", want: "seen"},
	} {
		if tt.reload != nil {
			c.Profile.Chain = tt.reload
		}
		if got := ask(tt.chosen); got != tt.want {
			t.Errorf("%s: the image is %s, want %s", tt.who, got, tt.want)
		}
	}
}
