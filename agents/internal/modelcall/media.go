package modelcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"agenthost/bus/filestore"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
)

// mediaPerCall bounds what a model is shown by content in one call.
const mediaPerCall = 20 << 20

// converse calls the model, and passes on what it says as it comes. The model is
// shown the images of the conversation that are kept as objects or stand in their
// address, and what else it reads, and what it makes is kept as an object before it is passed on.
func (t *Caller) converse(ctx context.Context, req llm.Request, called *meter, hear func(llm.Delta)) error {
	called.spoke = false
	if left := t.withoutRefused(req.Messages, called); len(left) > 0 && &left[0] != &req.Messages[0] {
		req.Messages, req.Contents = left, llm.Contents{}
	}
	if err := t.converseOnce(ctx, req, called, hear); err != nil {
		return t.converseAgain(ctx, req, called, hear, err)
	}
	return nil
}

func (t *Caller) converseOnce(ctx context.Context, req llm.Request, called *meter, hear func(llm.Delta)) error {
	chain := called.metered()
	if req.Contents = req.Look(); req.Contents.Stored {
		req.Messages = t.shown(ctx, req.Messages, chain)
	}
	for delta, err := range chain.Stream(ctx, req, called.add) {
		if err == nil && delta.Media != nil {
			delta.Media, err = t.kept(ctx, *delta.Media)
		}
		if err != nil {
			return err
		}
		called.spoke = true
		hear(delta)
	}
	return nil
}

// shown are messages with the content of what the models of chain may be shown, of
// the newest first. The messages themselves are not touched: the log holds no content.
func (t *Caller) shown(ctx context.Context, messages []llm.Message, chain *llm.Chain) []llm.Message {
	left, copied := uint64(mediaPerCall), false
	for i := len(messages) - 1; i >= 0; i-- { // most have no attachment: nothing of them is copied
		if !slices.ContainsFunc(messages[i].Parts, func(p llm.Part) bool { return isStored(p, chain) || isInline(p) }) {
			continue
		}
		m := messages[i]
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		m.Parts = slices.Clone(m.Parts)
		for k, p := range m.Parts {
			switch {
			case isStored(p, chain):
				m.Parts[k] = t.shownStored(ctx, *p.Media, &left)
			case isInline(p):
				m.Parts[k] = t.shownInline(*p.Media, &left)
			}
		}
		messages[i] = m
	}
	return messages
}

// isStored reports whether p is an object that a model of chain may be shown.
func isStored(p llm.Part, chain *llm.Chain) bool {
	return p.Media != nil && p.Media.Object != "" && chain.Reads(p.Media)
}

// isInline reports whether p is at an address that no provider may be given.
func isInline(p llm.Part) bool {
	return p.Media != nil && p.Media.URL != "" && !p.Media.Linked()
}

// shownStored is an attachment with its content, or the words why it has none.
func (t *Caller) shownStored(ctx context.Context, m llm.Media, left *uint64) llm.Part {
	data, err := t.Agent.Parts.Files.GetWithin(ctx, m.Object, *left)
	switch {
	case err == nil && len(data) == 0:
		return t.unshown(&m, "it is empty", nil)
	case err == nil:
		*left -= uint64(len(data))
		m.Data, m.URL = data, ""
		if m.MIME == "" {
			m.MIME = http.DetectContentType(data)
		}
		return llm.Part{Type: llm.MediaPart, Media: &m}
	}
	why := "it cannot be read now"
	switch {
	case errors.Is(err, filestore.ErrTooLarge):
		why = tooMuch
	case errors.Is(err, jetstream.ErrObjectNotFound):
		why = "it is not there any more"
	}
	return t.unshown(&m, why, err)
}

// tooMuch is why an attachment is not shown that is larger than what is left of
// mediaPerCall.
var tooMuch = fmt.Sprintf("a model sees %d MB of attachments at most", mediaPerCall>>20)

// unshown is what the model is told of an attachment that it is not shown.
func (t *Caller) unshown(m *llm.Media, why string, err error) llm.Part {
	t.Log().Warn().Err(err).Str("run", t.ID).Str("kind", m.Kind).Msg("attachment is not shown to the model")
	return unshown(m, why)
}

// kept is what a model has made, with its content in the object store.
func (t *Caller) kept(ctx context.Context, m llm.Media) (*llm.Media, error) {
	m.Kind = cmp.Or(m.Kind, kindOf(m.MIME))
	if m.Data == nil {
		return &m, nil
	}
	name, err := t.Agent.Parts.Files.Put(ctx, m.Data)
	if err != nil {
		return nil, &llm.Error{Code: llm.CodeInternal, Err: fmt.Errorf("keep what the model has made: %w", err)}
	}
	m.Object, m.Size, m.Data = name, int64(len(m.Data)), nil
	return &m, nil
}

// kindOf is the kind of an attachment, as channels tell them apart.
func kindOf(mime string) string {
	switch kind, _, _ := strings.Cut(mime, "/"); kind {
	case "image", "audio", "video":
		return kind
	default:
		return "file"
	}
}
