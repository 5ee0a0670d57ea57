package modelcall

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"agenthost/llm"
)

// converseAgain asks again without attachments when the model has refused a
// request that has some. A model that sees no images, an address that its server
// cannot fetch any more or a file that is too large for it would else have every
// answer of the session fail from then on: the conversation keeps what it holds.
//
// The error does not say which of them it is about. Some of the newest message are left out first, then
// those of one message, the newest before others, and all only where that does not help. What was refused is left out at once
// from then on.
func (t *Caller) converseAgain(ctx context.Context, req llm.Request, called *meter, hear func(llm.Delta), refused error) error {
	if called.spoke || !mayBeMedia(refused) {
		return refused
	}
	all := req.Messages
	for _, suspects := range suspected(all) {
		t.Log().Warn().Err(refused).Str("run", t.ID).Int("attachments", len(suspects)).Msg("model refused a request with attachments; it is asked without these")
		req.Messages, req.Contents = withoutMedia(all, func(m *llm.Media) bool { return slices.Contains(suspects, m) }), llm.Contents{}
		err := t.converseOnce(ctx, req, called, hear)
		if err == nil {
			for _, m := range suspects {
				t.Agent.Parts.RefusedMedia.Add(mediaKey(called.modelNames(), m))
			}
			return nil
		}
		if called.spoke || !mayBeMedia(err) {
			return err
		}
		refused = err
	}
	return refused
}

// mostSuspects is how many messages are suspected one by one, and how many attachments of a
// message: each takes a request.
const mostSuspects = 4

// suspected are attachments that may be what was refused, in the order in which they are left out.
func suspected(messages []llm.Message) (list [][]*llm.Media) {
	var all []*llm.Media
	for _, m := range slices.Backward(messages) {
		if media := m.Media(); len(media) > 0 {
			all = append(all, media...)
			list = append(list, media)
		}
	}
	if len(list) == 0 {
		return nil
	}
	some := someOf(list[0])
	if len(list) > 1 {
		list = append(list[:min(len(list), mostSuspects)], all)
	}
	return append(some, list...)
}

// someOf are attachments of a message that may be refused alone: those of a kind, as a model may not
// read it, or each where all are of one.
func someOf(media []*llm.Media) (list [][]*llm.Media) {
	byKind := map[string]int{}
	for _, m := range media {
		kind := cmp.Or(m.Kind, kindOf(m.MIME))
		if at, ok := byKind[kind]; ok {
			list[at] = append(list[at], m)
			continue
		}
		byKind[kind] = len(list)
		list = append(list, []*llm.Media{m})
	}
	switch {
	case len(list) > 1 && len(list) <= mostSuspects:
		return list
	case len(media) == 1 || len(media) > mostSuspects:
		return nil
	}
	return slices.Collect(slices.Chunk(media, 1))
}

// withoutRefused are messages without what the models that are asked were found to refuse.
func (t *Caller) withoutRefused(messages []llm.Message, called *meter) []llm.Message {
	refused := &t.Agent.Parts.RefusedMedia
	if refused.Empty() {
		return messages
	}
	models := called.modelNames()
	return withoutMedia(messages, func(m *llm.Media) bool { return refused.Has(mediaKey(models, m)) })
}

// mediaKey names an attachment as shown to some models.
func mediaKey(models string, m *llm.Media) string { return models + cmp.Or(m.Object, m.URL) }

// modelNames names the models that are asked, and not what they are called in the configuration:
// others may take what these refuse, as those that a hook chooses or that a reload brings.
func (m *meter) modelNames() string {
	var names strings.Builder
	for _, l := range cmp.Or(m.models, m.t.Profile.Chain).Links {
		names.WriteString(l.Name + "/" + l.Model + "\x00")
	}
	return names.String()
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

// withoutMedia are messages with words in place of those attachments that are left out. The
// messages themselves are not touched.
func withoutMedia(messages []llm.Message, leftOut func(*llm.Media) bool) []llm.Message {
	copied := false
	for i, m := range messages {
		if !slices.ContainsFunc(m.Media(), leftOut) {
			continue
		}
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		m.Parts = slices.Clone(m.Parts)
		for k, p := range m.Parts {
			if p.Type == llm.MediaPart && p.Media != nil && leftOut(p.Media) {
				m.Parts[k] = unshown(p.Media, "the model refused a request with it")
			}
		}
		messages[i] = m
	}
	return messages
}

// unshown is what the model is told of an attachment that it is not shown.
func unshown(m *llm.Media, why string) llm.Part {
	return llm.Part{Type: llm.Text, Text: fmt.Sprintf("[%s %q is not shown: %s]", cmp.Or(m.Kind, kindOf(m.MIME)), cmp.Or(m.Name, m.Object, m.MIME), why)}
}
