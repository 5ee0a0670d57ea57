package web

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/filestore"

	"github.com/nats-io/nats.go/jetstream"
)

// file answers with an attachment of a line of the person's conversation. What is no
// plain image is saved and never shown: it could be a page with scripts.
func (w *Web) file(rw http.ResponseWriter, r *http.Request) {
	at, ok := w.place(rw, r)
	if !ok || !w.begin(rw, r) {
		return
	}
	m, err := w.mediaOf(r.Context(), at, r.URL.Query().Get("message"), r.URL.Query().Get("n"))
	if err != nil {
		w.fail(rw, r, "read the conversation", err)
		return
	}
	if m.Object == "" {
		refuse(rw, http.StatusNotFound, "there is no such file")
		return
	}
	data, err := w.files.GetWithin(r.Context(), m.Object, uint64(w.settings.Load().MaxFile))
	switch {
	case errors.Is(err, filestore.ErrTooLarge):
		refuse(rw, http.StatusRequestEntityTooLarge, "the file is larger than "+w.settings.Load().MaxFile.String()+"; raise plugins.web.max_file")
		return
	case errors.Is(err, jetstream.ErrObjectNotFound):
		refuse(rw, http.StatusNotFound, "the file is not kept any more")
		return
	case err != nil:
		w.fail(rw, r, "read the file", err)
		return
	}
	h := rw.Header()
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Cache-Control", "private, max-age=86400, immutable")
	if shown[m.MIME] && shown[http.DetectContentType(data)] {
		h.Set("Content-Type", m.MIME)
		h.Set("Content-Disposition", disposition("inline", m.Name))
	} else {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", disposition("attachment", m.Name))
	}
	_, _ = rw.Write(data) // the client may be gone
}

// mediaOf finds an attachment by the id of its line and its number there.
func (w *Web) mediaOf(ctx context.Context, at place, message, number string) (bus.Media, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return bus.Media{}, nil //nolint:nilerr // there is no such file
	}
	s, err := w.read(ctx, at)
	if err != nil {
		return bus.Media{}, err
	}
	for _, p := range w.hub.unanswered(at) {
		s.addPending(p)
	}
	if list := s.media[message]; n < len(list) {
		return list[n], nil
	}
	return bus.Media{}, nil
}

// disposition is the header that names a file.
func disposition(how, name string) string {
	if name = cleanName(name); strings.HasPrefix(name, ".") {
		name = "_" + name
	}
	if value := mime.FormatMediaType(how, map[string]string{"filename": name}); value != "" {
		return value
	}
	return how
}
