package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/doors"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

// mostInline is how large a file may be that is sent inline.
const mostInline = 8 << 20

// object names in the metadata of a part its file in AGENT_FILES, until inline has read it.
// What is there was put there by partsOf: the metadata that clients send is not kept, where
// the URLs that they send are.
const object = "agenthost/object"

// partsOf are a text and files. A file of the object store is named by its metadata until
// inline has read it.
func partsOf(text string, media []bus.Media) proto.ContentParts {
	parts := proto.ContentParts{}
	if text != "" || len(media) == 0 {
		parts = append(parts, proto.NewTextPart(text))
	}
	for _, m := range media {
		p := proto.NewFileURLPart(proto.URL(m.URL), m.MIME)
		if m.Object != "" {
			p.Metadata = map[string]any{object: m.Object}
		}
		p.Filename = doors.FileName(m.Name)
		parts = append(parts, p)
	}
	return parts
}

// inline reads the files of artifacts; those that are too large, or gone, are named in
// their place.
func (h *handler) inline(ctx context.Context, parts proto.ContentParts) proto.ContentParts {
	list := proto.ContentParts{}
	for _, p := range parts {
		name, ok := p.Metadata[object].(string)
		if !ok {
			list = append(list, p)
			continue
		}
		content, err := h.files.GetWithin(ctx, name, mostInline)
		if err != nil {
			list = append(list, proto.NewTextPart(fmt.Sprintf("%s is the object %s of the bucket %s.", p.Filename, name, bus.FilesBucket)))
			continue
		}
		whole := proto.NewRawPart(content)
		whole.Filename, whole.MediaType = p.Filename, p.MediaType
		list = append(list, whole)
	}
	return list
}

// inlineTask is a task with the files of its artifacts and messages.
func (h *handler) inlineTask(ctx context.Context, t *proto.Task) *proto.Task {
	whole := *t
	whole.Artifacts = nil
	for _, a := range t.Artifacts {
		b := *a
		b.Parts = h.inline(ctx, a.Parts)
		whole.Artifacts = append(whole.Artifacts, &b)
	}
	whole.History = nil
	for _, m := range t.History {
		n := *m
		n.Parts = h.inline(ctx, m.Parts)
		whole.History = append(whole.History, &n)
	}
	return &whole
}

// read takes what a message says.
func (h *handler) read(ctx context.Context, m *proto.Message) (text string, media []bus.Media, err error) {
	defer func() {
		if err != nil {
			h.parts.Desk.LeaveFiles(ctx, media)
			media = nil
		}
	}()
	var texts []string
	for i, p := range m.Parts {
		if p == nil {
			return "", media, invalid("part %d is null", i+1)
		}
		switch v := p.Content.(type) {
		case proto.Text:
			texts = append(texts, string(v))
		case proto.Data:
			data, err := json.Marshal(v.Value)
			if err != nil {
				return "", media, invalid("part %d: %v", i+1, err)
			}
			texts = append(texts, string(data))
		case proto.URL:
			media = append(media, bus.Media{Kind: "file", MIME: p.MediaType, Name: p.Filename, URL: string(v)})
		case proto.Raw:
			kept, err := doors.KeepFile(ctx, h.files, p.Filename, p.MediaType, v)
			if err != nil {
				return "", media, fmt.Errorf("%w: %w", doors.ErrAway, err)
			}
			media = append(media, kept)
		}
	}
	text = strings.Join(texts, "\n\n")
	if text == "" && len(media) == 0 {
		return "", nil, invalid("the message says nothing; add a part with text")
	}
	return text, media, nil
}

// isClients reports whether an error is the client's own, and in words for it.
func isClients(err error) bool {
	_, ok := errors.AsType[*proto.Error](err)
	return ok
}

func invalid(format string, args ...any) error {
	return proto.NewError(proto.ErrInvalidParams, fmt.Sprintf(format, args...))
}
