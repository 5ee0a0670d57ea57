package builtin

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// mediaType is what a Content-Type says, without its parameters, of which many servers
// write some that cannot be read.
func mediaType(kind string) (string, error) {
	media, _, err := mime.ParseMediaType(kind)
	if err == nil {
		return media, nil
	}
	first, _, _ := strings.Cut(kind, ";")
	if media, _, alone := mime.ParseMediaType(first); alone == nil && strings.Contains(media, "/") {
		return media, nil
	}
	return "", err
}

// isHTML reports whether a media type is that of a web page.
func isHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// inUTF8 is a body in the letters that it says it is in: by its beginning, by its
// Content-Type, or in a page. What does not say is left alone.
func inUTF8(body []byte, kind string, page bool) []byte {
	encoding, name, certain := charset.DetermineEncoding(body, kind)
	mark := []byte("\uFEFF")
	if name == "utf-8" {
		return bytes.TrimPrefix(body, mark)
	}
	const plainBytes = "iso-2022-jp" // which looks like UTF-8
	if !certain && (!page || utf8.Valid(body) && name != plainBytes) {
		return body
	}
	text, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return body
	}
	return bytes.TrimPrefix(text, mark)
}
