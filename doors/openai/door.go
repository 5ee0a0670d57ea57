package openai

import (
	"net/http"

	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/client"
	"agenthost/doors"

	"github.com/rs/zerolog"
)

// Paths are those that New serves.
func Paths() []string { return []string{"/v1/"} }

// A door has what requests share.
type door struct {
	parts    doors.Parts
	requests *requests
	sessions *client.Sessions
	files    *filestore.Store
	log      zerolog.Logger
}

// New serves the API.
func New(p doors.Parts) http.Handler {
	c := p.Desk.Client()
	d := &door{
		parts: p, sessions: c.Sessions(), files: filestore.New(c.JetStream()), log: p.Log.With().Str("door", p.Desk.Door()).Logger(),
		requests: &requests{js: c.JetStream(), reader: records.NewReader(c.JetStream())},
	}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request, doors.Visit) error{
		"GET /v1/models":            d.listModels,
		"GET /v1/models/{id}":       d.showModel,
		"POST /v1/chat/completions": d.chat,
		"POST /v1/responses":        d.respond,
		"GET /v1/responses/{id}":    d.showResponse,
		"/v1/models":                onlyBy("GET, HEAD"),
		"/v1/models/{id}":           onlyBy("GET, HEAD"),
		"/v1/chat/completions":      onlyBy("POST"),
		"/v1/responses":             onlyBy("POST"),
		"/v1/responses/{id}":        onlyBy("GET, HEAD"),
		"/v1/":                      unknownPath,
	} {
		mux.HandleFunc(pattern, d.admitted(serve))
	}
	return mux
}

// admitted serves those who may talk to agents.
func (d *door) admitted(serve func(http.ResponseWriter, *http.Request, doors.Visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		v, no := d.parts.Visit(r)
		if no != nil {
			writeError(w, refused(no))
			return
		}
		if err := serve(w, r, v); err != nil {
			writeError(w, d.explained(err))
		}
	}
}

// onlyBy refuses other methods than those that a path has.
func onlyBy(methods string) func(http.ResponseWriter, *http.Request, doors.Visit) error {
	return func(w http.ResponseWriter, r *http.Request, _ doors.Visit) error {
		w.Header().Set("Allow", methods)
		f := badRequest("", r.Method+" "+r.URL.Path+" is not served; ask by "+methods)
		f.status = http.StatusMethodNotAllowed
		return f
	}
}

func unknownPath(_ http.ResponseWriter, r *http.Request, _ doors.Visit) error {
	return notFound("", "there is no "+r.Method+" "+r.URL.Path+"; see docs/doors/openai.md for what is served")
}
