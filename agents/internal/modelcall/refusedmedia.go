package modelcall

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"agenthost/llm"
)

// converseAgain asks once more without attachments when the model has refused a
// request that has some. A model that sees no images, an address that its server
// cannot fetch any more or a file that is too large for it would else have every
// answer of the session fail from then on: the conversation keeps what it holds.
func (t *Caller) converseAgain(ctx context.Context, req llm.Request, called *meter, hear func(llm.Delta), refused error) error {
	if called.spoke || !mayBeMedia(refused) {
		return refused
	}
	messages, some := withoutMedia(req.Messages)
	if !some {
		return refused
	}
	t.Log().Warn().Err(refused).Str("run", t.ID).Msg("model refused a request with attachments; it is asked without them")
	req.Messages, req.Contents = messages, llm.Contents{}
	return t.converseOnce(ctx, req, called, hear)
}

// mayBeMedia reports whether the attachments may be what a model has refused.
func mayBeMedia(err error) bool {
	e := llm.AsError(err)
	switch e.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return e.Code == llm.CodeValidation && !e.TooLong // what is too long in tokens is summed up
	case http.StatusNotFound: // of a gateway that has no model for images
		return e.Code == llm.CodeProviderUnavailable
	}
	return false
}

// withoutMedia are messages with words in place of what is attached to them, and
// whether there is any. The messages themselves are not touched.
func withoutMedia(messages []llm.Message) (left []llm.Message, some bool) {
	for i, m := range messages {
		if len(m.Media()) == 0 {
			continue
		}
		if !some {
			messages, some = slices.Clone(messages), true
		}
		m.Parts = slices.Clone(m.Parts)
		for k, p := range m.Parts {
			if p.Type == llm.MediaPart && p.Media != nil {
				m.Parts[k] = unshown(p.Media, "the model refused a request with it")
			}
		}
		messages[i] = m
	}
	return messages, some
}

// unshown is what the model is told of an attachment that it is not shown.
func unshown(m *llm.Media, why string) llm.Part {
	return llm.Part{Type: llm.Text, Text: fmt.Sprintf("[%s %q is not shown: %s]", cmp.Or(m.Kind, kindOf(m.MIME)), cmp.Or(m.Name, m.Object, m.MIME), why)}
}
