package openai

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"agenthost/llm"
)

func isImage(m *llm.Media) bool {
	return m.Kind == "image" || strings.HasPrefix(m.MIME, "image/")
}

// shown is the URL by which the server can see m; empty when it cannot.
func shown(m *llm.Media) string {
	if !isImage(m) {
		return ""
	}
	if len(m.Data) == 0 {
		return m.URL
	}
	mime := cmp.Or(m.MIME, http.DetectContentType(m.Data))
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
}

// mention lets the model know of an attachment it cannot be shown.
func mention(m *llm.Media) string {
	return fmt.Sprintf("[attached %s %q]", cmp.Or(m.Kind, m.MIME, "file"), m.Name)
}

// made is the image at a URL that the model answered with; nil when it is none
// that can be read.
func made(url string) *llm.Media {
	inline, ok := strings.CutPrefix(url, "data:")
	if !ok {
		if url == "" {
			return nil
		}
		return &llm.Media{Kind: "image", URL: url}
	}
	mime, encoded, _ := strings.Cut(inline, ";base64,")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return nil
	}
	return &llm.Media{Kind: "image", MIME: mime, Size: int64(len(data)), Data: data}
}
