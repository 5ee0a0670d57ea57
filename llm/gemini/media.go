package gemini

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"agenthost/llm"
)

type blob struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
}

type file struct {
	MIME string `json:"mimeType,omitempty"`
	URI  string `json:"fileUri"`
}

// shown is m as the model can see it, if it can.
func shown(m *llm.Media) (part, bool) {
	kind := kindOf(m)
	switch {
	case !readable(kind) && (kind != "" || m.Kind != "image"):
		return part{}, false
	case len(m.Data) > 0:
		return part{Inline: &blob{kind, m.Data}}, true
	case m.URL != "":
		return part{File: &file{kind, m.URL}}, true
	}
	return part{}, false
}

// Reads reports whether the API is sent the content of m.
func Reads(m *llm.Media) bool { return readable(kindOf(m)) }

// kindOf is the MIME type of m; empty when nothing tells it.
func kindOf(m *llm.Media) string {
	kind := m.MIME
	switch {
	case kind != "":
	case len(m.Data) > 0:
		kind = http.DetectContentType(m.Data)
	default:
		if u, err := url.Parse(m.URL); err == nil {
			kind = mime.TypeByExtension(path.Ext(u.Path))
		}
	}
	kind, _, _ = strings.Cut(kind, ";")
	if kind == "image/jpg" {
		return "image/jpeg"
	}
	return kind
}

// readable leaves out what the models cannot see, as image/gif: one such part
// and the API refuses the whole conversation from then on.
func readable(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf":
		return true
	}
	return strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
}

// mention lets the model know of an attachment it cannot be shown.
func mention(m *llm.Media) string {
	return fmt.Sprintf("[attached %s %q]", cmp.Or(m.Kind, m.MIME, "file"), m.Name)
}

// made is something the model made.
func made(b *blob) *llm.Media {
	kind, _, _ := strings.Cut(b.MIME, "/")
	return &llm.Media{Kind: kind, MIME: b.MIME, Size: int64(len(b.Data)), Data: b.Data}
}
