package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/httpauth"

	"github.com/nats-io/nats.go/jetstream"
)

func answer(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body) // the client may be gone
}

// refuse says what is wrong, and what would be right.
func refuse(rw http.ResponseWriter, status int, why string) {
	answer(rw, status, map[string]string{"error": why})
}

// later refuses for now.
func later(rw http.ResponseWriter, status int, after, why string) {
	rw.Header().Set("Retry-After", after)
	refuse(rw, status, why)
}

const errNoPlace = "there is no such agent or conversation here; reload the page"

// place is the conversation that the query of a request names. With false the
// request is answered.
func (w *Web) place(rw http.ResponseWriter, r *http.Request) (place, bool) {
	q := r.URL.Query()
	at, ok := w.placeOf(httpauth.CallerOf(r.Context()), w.personOf(rw, r), q.Get("agent"), q.Get("conversation"))
	if !ok {
		refuse(rw, http.StatusNotFound, errNoPlace)
	}
	return at, ok
}

// fail answers for what NATS or the store has refused.
func (w *Web) fail(rw http.ResponseWriter, r *http.Request, what string, err error) {
	if r.Context().Err() != nil {
		return // no listener
	}
	w.parts.Log.Warn().Err(err).Msg("chat page: " + what)
	if away(err) {
		later(rw, http.StatusServiceUnavailable, "2", "messages cannot be stored or read just now; it is tried again")
		return
	}
	refuse(rw, http.StatusInternalServerError, what+" has failed; the log of the host says why")
}

// away reports whether err is of a NATS that is away, or has no room.
func away(err error) bool {
	_, api := errors.AsType[*jetstream.APIError](err)
	return api || errors.Is(err, client.ErrNotStored) || bus.Away(err) || bus.Transient(err)
}
