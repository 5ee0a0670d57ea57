package acp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"agenthost/bus"
)

// content is what a prompt says: its text, and its attachments, which are stored.
func (a *agent) content(ctx context.Context, blocks []block) (text string, media []bus.Media, err error) {
	var words []string
	for i, b := range blocks {
		said, m, err := a.block(ctx, b)
		if err != nil {
			a.desk.LeaveFiles(ctx, media)
			return "", nil, fmt.Errorf("block %d of the prompt: %w", i+1, err)
		}
		if said != "" {
			words = append(words, said)
		}
		if m != nil {
			media = append(media, *m)
		}
	}
	if len(words) == 0 && len(media) == 0 {
		return "", nil, wrong("the prompt is empty")
	}
	return strings.Join(words, "\n\n"), media, nil
}

func (a *agent) block(ctx context.Context, b block) (text string, media *bus.Media, err error) {
	switch b.Type {
	case "text":
		return b.Text, nil, nil
	case "image":
		media, err = a.store(ctx, b.Data, b.MIMEType, b.URI)
		return "", media, err
	case "resource_link":
		return fmt.Sprintf("[%s](%s)", b.Name, b.URI), nil, nil
	case "resource":
		if b.Resource == nil {
			return "", nil, wrong("resource is missing")
		}
		if b.Resource.Blob != "" {
			media, err = a.store(ctx, b.Resource.Blob, b.Resource.MIMEType, b.Resource.URI)
			return "", media, err
		}
		fence := fenceFor(b.Resource.Text)
		return fmt.Sprintf("%s\n%s\n%s\n%s", b.Resource.URI, fence, b.Resource.Text, fence), nil, nil
	default:
		return "", nil, wrong("type %q is not taken; want text, image, resource or resource_link", b.Type)
	}
}

// fenceFor is a fence that text does not hold.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// store keeps an attachment under the hash of its content.
func (a *agent) store(ctx context.Context, encoded, mime, uri string) (*bus.Media, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return nil, wrong("its data is not base64")
	}
	kind, _, _ := strings.Cut(mime, "/")
	if kind != "image" && kind != "audio" && kind != "video" {
		kind = "file"
	}
	sum := sha256.Sum256(data)
	name := "acp-" + hex.EncodeToString(sum[:])
	js := a.desk.Client().JetStream()
	files, err := js.ObjectStore(ctx, bus.FilesBucket)
	if err == nil {
		_, err = files.GetInfo(ctx, name)
		if err != nil {
			_, err = files.Put(ctx, bus.FileMeta(js.Conn(), name), bytes.NewReader(data))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("store an attachment in %s: %w", bus.FilesBucket, err)
	}
	return &bus.Media{Kind: kind, MIME: mime, Name: uri[strings.LastIndexByte(uri, '/')+1:], Size: int64(len(data)), Object: name}, nil
}
