// Package console serves the console: the pages at / with which a person sees and
// steers a fleet. They are files only. What they show and do goes by /api, which
// says who may.
package console

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"

	"agenthost/internal/webfile"
)

//go:embed page
var pageFiles embed.FS

// folder is where the files of the page are served.
const folder = "/console/"

// Mount serves the page at GET / for those who ask for HTML, and its files below
// /console/. Everybody else gets what otherwise answers at /.
func Mount(mux *http.ServeMux, otherwise http.Handler) {
	sub, _ := fs.Sub(pageFiles, "page") // it is in the program
	_ = fs.WalkDir(sub, ".", func(name string, entry fs.DirEntry, _ error) error {
		if entry.IsDir() {
			return nil
		}
		body, err := fs.ReadFile(sub, name)
		handler := webfile.Handler(name, body, webfile.NoFrames)
		if name == "index.html" {
			mux.Handle("GET /{$}", byAccept(handler, otherwise))
			return err
		}
		mux.Handle("GET "+folder+name, handler)
		return err
	})
	mux.Handle("GET "+folder+"markdown.js", webfile.Handler("markdown.js", webfile.Markdown, webfile.NoFrames))
}

// byAccept serves the page to browsers, which name HTML among what they take.
func byAccept(page, otherwise http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		for _, accepted := range r.Header.Values("Accept") {
			if strings.Contains(strings.ToLower(accepted), "text/html") {
				page.ServeHTTP(w, r)
				return
			}
		}
		otherwise.ServeHTTP(w, r)
	})
}
