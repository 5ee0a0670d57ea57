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

// mediaPerCall bounds the images that a model is shown by content in one call.
const mediaPerCall = 20 << 20

// converse calls the model, and passes on what it says as it comes. The model is
// shown the images of the conversation that are kept as objects or stand in their
// address, and what it makes is kept as an object, before anybody hears of it.
func (t *Caller) converse(ctx context.Context, req llm.Request, called *meter, hear func(llm.Delta)) error {
	called.spoke = false
	if err := t.converseOnce(ctx, req, called, hear); err != nil {
		return t.converseAgain(ctx, req, called, hear, err)
	}
	return nil
}

func (t *Caller) converseOnce(ctx context.Context, req llm.Request, called *meter, hear func(llm.Delta)) error {
	if req.Contents = req.Look(); req.Contents.Stored {
		req.Messages = t.shown(ctx, req.Messages)
	}
	for delta, err := range called.metered().Stream(ctx, req, called.add) {
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

// shown are messages with the content of their images, of the newest first. The
// messages themselves are not touched: the log holds no content.
func (t *Caller) shown(ctx context.Context, messages []llm.Message) []llm.Message {
	left, copied := uint64(mediaPerCall), false
	for i := len(messages) - 1; i >= 0; i-- { // most have no image: nothing of them is copied
		if !slices.ContainsFunc(messages[i].Parts, isUnsent) {
			continue
		}
		m := messages[i]
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		m.Parts = slices.Clone(m.Parts)
		for k, p := range m.Parts {
			switch {
			case isStoredImage(p):
				m.Parts[k] = t.shownImage(ctx, *p.Media, &left)
			case isUnsent(p):
				m.Parts[k] = t.shownInline(*p.Media, &left)
			}
		}
		messages[i] = m
	}
	return messages
}

// isUnsent reports whether a provider cannot be sent p as it is.
func isUnsent(p llm.Part) bool {
	return isStoredImage(p) || p.Media != nil && p.Media.URL != "" && !p.Media.Linked()
}

func isStoredImage(p llm.Part) bool {
	return p.Media != nil && p.Media.Object != "" && p.Media.IsImage()
}

// shownImage is an image with its content, or the words why it has none.
func (t *Caller) shownImage(ctx context.Context, m llm.Media, left *uint64) llm.Part {
	data, err := t.Agent.Parts.Files.GetWithin(ctx, m.Object, *left)
	if err == nil {
		*left -= uint64(len(data))
		m.Data = data
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
var tooMuch = fmt.Sprintf("a model sees %d MB of images at most", mediaPerCall>>20)

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
