// Package webfile serves the files of web pages that are in the program.
package webfile

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"path"
)

// Markdown is a JavaScript module that makes elements of Markdown. It makes text
// nodes only, so that what a model says cannot be markup of a page.
//
//go:embed markdown.js
var Markdown []byte

// Policy lets a page load nothing but its own files, and no text become markup. The
// sites that may show the page in a frame are to be appended, or 'none'.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors "

var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// Handler serves one file. frames are the sites that may show it in a frame, for a
// request.
func Handler(name string, body []byte, frames func(*http.Request) string) http.Handler {
	sum := sha256.Sum256(body)
	tag, kind := `"`+hex.EncodeToString(sum[:8])+`"`, contentTypes[path.Ext(name)]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", Policy+frames(r))
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(body) // the client may be gone
	})
}

// NoFrames is the frames of a page that no site may show in one.
func NoFrames(*http.Request) string { return "'none'" }
