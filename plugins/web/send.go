package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agenthost/bus"
	"agenthost/internal/httpauth"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	stopOrder  = "/stop"
	fileWithin = 30 * time.Second
)

// Tests set it.
var storeWithin = 5 * time.Second

// A posting is the body of a request that sends a message, or its field message
// beside files.
type posting struct {
	ID           string `json:"id"` // made by the page, so that a retry is the same message
	Agent        string `json:"agent"`
	Conversation string `json:"conversation"`
	Text         string `json:"text"`
	Answers      string `json:"answers"` // the call of what is answered
	Stop         bool   `json:"stop"`    // in place of a text: end the run
}

var isID = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)

// A refusal is the answer to a request that is not taken.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

// post takes a message. It is answered once the message is stored.
func (w *Web) post(rw http.ResponseWriter, r *http.Request) {
	p := w.personOf(rw, r)
	if !w.limits.post(p.id, time.Now()) {
		later(rw, http.StatusTooManyRequests, "2", "these are many messages at once; wait a moment")
		return
	}
	m, err := w.readPosting(rw, r, p)
	var no *refusal
	switch {
	case errors.As(err, &no):
		refuse(rw, no.status, no.why)
		return
	case err != nil:
		w.fail(rw, r, "store the files", err)
		return
	}
	first, err := w.store(r.Context(), m)
	switch {
	case first > 0: // sent again, it has the same files as a rule
		w.leave(r.Context(), w.otherFiles(r.Context(), m.Media, first))
	case errors.Is(err, nats.ErrMaxPayload): // while NATS is away the page sends it again
		w.leave(r.Context(), m.Media)
	}
	if err != nil {
		if errors.Is(err, nats.ErrMaxPayload) {
			refuse(rw, http.StatusRequestEntityTooLarge, errTextTooLong)
			return
		}
		w.fail(rw, r, "store the message", err)
		return
	}
	answer(rw, http.StatusAccepted, map[string]any{"id": m.ID})
}

// readPosting reads a request, and stores its files.
func (w *Web) readPosting(rw http.ResponseWriter, r *http.Request, p person) (*bus.Inbound, error) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		r.Body = http.MaxBytesReader(rw, r.Body, mostBody)
		return w.message(r, p, r.Body)
	}
	select {
	case w.limits.uploads <- struct{}{}:
		defer func() { <-w.limits.uploads }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	r.Body = http.MaxBytesReader(rw, r.Body, mostBody+mostFiles*int64(w.settings.Load().MaxFile))
	parts := multipart.NewReader(r.Body, params["boundary"])
	first, err := parts.NextPart()
	if err != nil || first.FormName() != "message" {
		return nil, &refusal{http.StatusBadRequest, "the first field has to be message"}
	}
	m, err := w.message(r, p, io.LimitReader(first, mostBody))
	if err != nil {
		return nil, err
	}
	if err := w.readFiles(r.Context(), parts, m); err != nil {
		w.leave(r.Context(), m.Media)
		return nil, err
	}
	return m, nil
}

// readFiles stores the files behind a message.
func (w *Web) readFiles(ctx context.Context, parts *multipart.Reader, m *bus.Inbound) error {
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			if strings.TrimSpace(m.Text) == "" && len(m.Media) == 0 {
				return errEmpty
			}
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
		if len(m.Media) == mostFiles {
			return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("a message has at most %d files", mostFiles)}
		}
		media, err := w.keep(ctx, part)
		if err != nil {
			return err
		}
		m.Media = append(m.Media, media)
	}
}

var errEmpty = &refusal{http.StatusBadRequest, "the message is empty"}

const errTextTooLong = "the text is too long; send it as a file"

func unreadable(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return &refusal{http.StatusRequestEntityTooLarge, "this is too large"}
	}
	return &refusal{http.StatusBadRequest, "the request cannot be read; reload the page"}
}

// message is the envelope of what was posted.
func (w *Web) message(r *http.Request, p person, body io.Reader) (*bus.Inbound, error) {
	var m posting
	data, err := io.ReadAll(body)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	at, ok := w.placeOf(httpauth.CallerOf(r.Context()), p, m.Agent, m.Conversation)
	if m.Stop {
		m.Text, m.Answers = stopOrder, ""
	}
	multi := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/")
	switch {
	case !ok:
		return nil, &refusal{http.StatusNotFound, errNoPlace}
	case !isID.MatchString(m.ID):
		return nil, &refusal{http.StatusBadRequest, "id: want 8 to 64 letters, digits, _ and -"}
	case len(m.Text) > mostText:
		return nil, &refusal{http.StatusRequestEntityTooLarge, errTextTooLong}
	case strings.ContainsRune(m.Text, 0) || !utf8.Valid(data): // of which m has a replacement
		return nil, &refusal{http.StatusBadRequest, "the text holds a NUL, or is not valid UTF-8"}
	case strings.TrimSpace(m.Text) == "" && !multi:
		return nil, errEmpty
	case len(m.Answers) > 256:
		return nil, &refusal{http.StatusBadRequest, "answers: want the call that is answered"}
	}
	return &bus.Inbound{
		ID: m.ID, From: p.id, Name: p.name, Thread: at.thread, Conversation: at.thread, Agent: m.Agent, Text: m.Text, Answers: m.Answers,
		SentAt: time.Now().UTC().Format(time.RFC3339Nano),
	}, nil
}

// store publishes a message and waits until it is stored. first is the number of the one that was
// stored under its id before.
func (w *Web) store(ctx context.Context, m *bus.Inbound) (first uint64, err error) {
	msg, err := bus.NewMessage(inward, m)
	if err != nil {
		return 0, err
	}
	msg.Header.Set(nats.MsgIdHdr, strings.Join([]string{channel, m.From, m.Agent, m.Thread, m.ID}, ":"))
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	ack, err := w.parts.Client.JetStream().PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	if err != nil || !ack.Duplicate {
		return 0, err
	}
	return ack.Sequence, nil
}

// otherFiles are those that the message of that number does not name.
func (w *Web) otherFiles(ctx context.Context, files []bus.Media, first uint64) []bus.Media {
	if len(files) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	stored, err := w.reader.Get(ctx, bus.InboundStream, first)
	if err != nil {
		return files // whether something names them is looked at before they are deleted
	}
	return slices.DeleteFunc(files, func(m bus.Media) bool { return bytes.Contains(stored.Data, []byte(m.Object)) })
}

// leave has files deleted later unless something names them: those of a message that is not taken
// would stay for good, and an erasure would not find them.
func (w *Web) leave(ctx context.Context, files []bus.Media) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fileWithin)
	defer cancel()
	for _, m := range files {
		if err := w.files.Leave(ctx, m.Object); err != nil {
			w.parts.Log.Warn().Err(err).Str("file", m.Object).Msg("delete the file of a message that is not taken: failed")
		}
	}
}

// keep stores a file.
func (w *Web) keep(ctx context.Context, part *multipart.Part) (bus.Media, error) {
	most := int64(w.settings.Load().MaxFile)
	data, err := io.ReadAll(io.LimitReader(part, most+1))
	switch {
	case err != nil:
		return bus.Media{}, unreadable(err)
	case int64(len(data)) > most:
		return bus.Media{}, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the file %q is larger than %s", part.FileName(), w.settings.Load().MaxFile)}
	}
	ctx, cancel := context.WithTimeout(ctx, fileWithin)
	defer cancel()
	name, err := w.files.Put(ctx, data)
	if err != nil {
		return bus.Media{}, err
	}
	kind := http.DetectContentType(data)
	if said, _, err := mime.ParseMediaType(part.Header.Get("Content-Type")); err == nil && !shown[kind] && !shown[said] {
		kind = said
	}
	return bus.Media{Kind: kindOf(kind), MIME: kind, Name: cleanName(part.FileName()), Size: int64(len(data)), Object: name}, nil
}

func kindOf(mimeType string) string {
	switch kind, _, _ := strings.Cut(mimeType, "/"); kind {
	case "image", "audio", "video":
		return kind
	}
	return "file"
}

const mostName = 200

// cleanName is the name of a file without what is no name: folders, control characters,
// and those that turn text around, by which a program would look like a picture.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name[strings.LastIndexAny(name, `/\`)+1:])
	for len(name) > mostName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}
