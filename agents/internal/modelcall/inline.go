package modelcall

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"agenthost/llm"
)

var (
	errUnlinked = errors.New("its URL is neither http, https nor data")
	errNoData   = errors.New("its data: URL cannot be decoded")
)

// shownInline is an attachment with the content that its data: URL holds: not
// every provider reads one. Of any other address that is not on the web the model
// is told only that it is there: a model server on this machine would open its
// files.
func (t *Caller) shownInline(m llm.Media, left *uint64) llm.Part {
	if len(m.URL) < len("data:") || !strings.EqualFold(m.URL[:len("data:")], "data:") {
		return t.unshown(&m, "it has no address on the web", errUnlinked)
	}
	kind, data, ok := decodeInline(m.URL[len("data:"):])
	switch size := uint64(len(data)); {
	case !ok:
		return t.unshown(&m, "it cannot be read", errNoData)
	case size > *left:
		return t.unshown(&m, tooMuch, nil)
	default:
		*left -= size
	}
	m.MIME, m.Data, m.URL = cmp.Or(m.MIME, kind), data, ""
	return llm.Part{Type: llm.MediaPart, Media: &m}
}

// decodeInline is what stands behind "data:".
func decodeInline(rest string) (mime string, data []byte, ok bool) {
	head, body, ok := strings.Cut(rest, ",")
	if !ok {
		return "", nil, false
	}
	mime, _, _ = strings.Cut(head, ";")
	if strings.HasSuffix(strings.ToLower(head), ";base64") {
		data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
		return mime, data, err == nil && len(data) > 0
	}
	text, err := url.PathUnescape(body)
	return mime, []byte(text), err == nil && text != ""
}
