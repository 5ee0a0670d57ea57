package web

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"

	"agenthost/internal/webfile"
)

//go:embed page
var pageFiles embed.FS

// mountPage serves the files of the page. They are the same for everybody; what is
// shown in them comes by the API.
func (w *Web) mountPage(mux *http.ServeMux) {
	files, _ := fs.ReadDir(pageFiles, "page") // it is in the program
	for _, f := range files {
		body, _ := pageFiles.ReadFile("page/" + f.Name())
		handler := webfile.Handler(f.Name(), body, w.frames)
		if f.Name() == "index.html" {
			mux.Handle("GET /chat", handler)
			mux.Handle("GET /chat/{$}", http.RedirectHandler("/chat", http.StatusPermanentRedirect))
			continue
		}
		mux.Handle("GET /chat/"+f.Name(), handler)
	}
	mux.Handle("GET /chat/markdown.js", webfile.Handler("markdown.js", webfile.Markdown, w.frames))
}

// frames are the sites that may show the page in a frame: those of the settings,
// and only the page that is made for it.
func (w *Web) frames(r *http.Request) string {
	embed := w.settings.Load().Embed
	if len(embed) == 0 || r.URL.Query().Get("embed") == "" {
		return "'none'"
	}
	return strings.Join(embed, " ")
}
