package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"agenthost/bus"
	"agenthost/plugins"

	"github.com/nats-io/nuid"
)

const (
	// bodyWithin is how long a body may take to come.
	bodyWithin = 10 * time.Second
	// storeWithin is how long a message may take to be stored.
	storeWithin = 10 * time.Second
	// mostAsking is how many requests of an account wait for their replies at once.
	mostAsking = 256
	retryAfter = "5"
)

// A status is an error with the status that it is answered with.
type status struct {
	code int
	err  error
}

func (s *status) Error() string { return s.err.Error() }
func (s *status) Unwrap() error { return s.err }

func with(code int, err error) error { return &status{code, err} }

// Handler implements plugins.Receiver.
func (c *Channel) Handler(in *plugins.Inbox) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, with(http.StatusMethodNotAllowed, errors.New("want POST")))
			return
		}
		held := &share{of: c.bodies}
		defer held.free()
		m, err := c.read(w, r, in, held)
		if errors.Is(err, errPing) {
			say(w, http.StatusOK, map[string]string{"event": "ping"})
			return
		}
		if err != nil {
			w.Header().Set("Connection", "close") // what is left of the body is not read
			refuse(w, err)
			return
		}
		c.answer(w, r, in, m)
	})
}

// read reads a request and checks that it is of the one who has the secret.
func (c *Channel) read(w http.ResponseWriter, r *http.Request, in *plugins.Inbox, held *share) (plugins.Received, error) {
	var none plugins.Received
	ctx, cancel := context.WithTimeout(r.Context(), bodyWithin)
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin)) // a test's recorder has none
	if r.ContentLength > int64(c.cfg.MaxBody) {
		return none, with(http.StatusRequestEntityTooLarge, fmt.Errorf("%w, %s", errTooLarge, c.cfg.MaxBody))
	}
	id, err := c.signer.checkHead(r.Header)
	if err != nil {
		return none, with(http.StatusUnauthorized, err)
	}
	body, err := readBody(ctx, r.Body, int64(c.cfg.MaxBody), held)
	switch {
	case errors.Is(err, errTooLarge):
		return none, with(http.StatusRequestEntityTooLarge, fmt.Errorf("%w, %s", err, c.cfg.MaxBody))
	case errors.Is(err, errNoRoom):
		return none, with(http.StatusServiceUnavailable, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return none, with(http.StatusRequestTimeout, fmt.Errorf("the body took longer than %s", bodyWithin))
	case err != nil:
		return none, with(http.StatusBadRequest, fmt.Errorf("read the body: %w", err))
	}
	_ = control.SetReadDeadline(time.Time{})
	if err := c.signer.checkBody(r.Header, id, body); err != nil {
		return none, with(http.StatusUnauthorized, err)
	}
	if err := c.signer.checkKind(r.Header); err != nil {
		return none, with(http.StatusBadRequest, err)
	}
	if !in.Ready() {
		return none, with(http.StatusServiceUnavailable, errors.New("NATS is away; try again"))
	}
	m, err := c.message(id, body)
	if n := len(m.ID); err == nil && n > bus.LongestID {
		err = fmt.Errorf("its id has %d bytes; want at most %d", n, bus.LongestID)
	}
	if err != nil {
		return none, with(http.StatusBadRequest, err)
	}
	ctx, cancel = context.WithTimeout(r.Context(), storeWithin) // however long the body took
	defer cancel()
	m.Since, err = c.sameBody(ctx, in, m.ID, body)
	switch {
	case errors.Is(err, errOtherBody):
		return none, with(http.StatusUnauthorized, err)
	case err != nil:
		return none, with(http.StatusServiceUnavailable, fmt.Errorf("look up the id: %w", err))
	}
	return m, nil
}

// message makes a message of a body. The id of the request is that of the message,
// whatever an envelope says.
func (c *Channel) message(id string, body []byte) (plugins.Received, error) {
	if !utf8.Valid(body) {
		return plugins.Received{}, errors.New("the body is not UTF-8")
	}
	if c.text != nil {
		text := c.text.Fill(body)
		if strings.TrimSpace(text) == "" {
			return plugins.Received{}, errors.New("the body has nothing at the paths of this webhook's text; want a JSON body that has them")
		}
		return plugins.Received{ID: cmp.Or(id, nuid.Next()), Text: text, SentAt: time.Now()}, nil
	}
	if !bus.IsObject(body) {
		if text := bytes.TrimSpace(body); len(text) > 0 {
			return plugins.Received{ID: cmp.Or(id, nuid.Next()), Text: string(text), SentAt: time.Now()}, nil
		}
		return plugins.Received{}, errors.New("the body is empty; want an inbound envelope")
	}
	in, err := bus.DecodeInbound(body)
	if err == nil {
		err = in.CheckIDs()
	}
	if err != nil {
		return plugins.Received{}, err
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(body, &fields) // which has just been read
	id = cmp.Or(id, in.ID, nuid.Next())
	fields["id"] = encoded(id)
	return plugins.Received{ID: id, Raw: encoded(fields)}, nil
}

// answer stores a message and says so, or with the reply to it.
func (c *Channel) answer(w http.ResponseWriter, r *http.Request, in *plugins.Inbox, m plugins.Received) {
	if c.cfg.Reply == "response" {
		c.answerWithReply(w, r, in, m)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeWithin)
	defer cancel()
	if err := in.Take(ctx, m); err != nil {
		refuse(w, notTaken(err))
		return
	}
	say(w, http.StatusAccepted, map[string]string{"id": m.ID})
}

func (c *Channel) answerWithReply(w http.ResponseWriter, r *http.Request, in *plugins.Inbox, m plugins.Received) {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	default:
		refuse(w, with(http.StatusServiceUnavailable, errors.New("too many requests wait for their replies; try again")))
		return
	}
	waiting, cancel := context.WithTimeout(r.Context(), c.cfg.Wait)
	defer cancel()
	reply, err := in.Ask(waiting, m)
	switch {
	case err == nil:
		say(w, http.StatusOK, reply)
		return
	case errors.Is(err, plugins.ErrNoReply): // wait is over, or the host stops
		say(w, http.StatusAccepted, map[string]string{"id": m.ID})
		return
	case waiting.Err() == nil:
		refuse(w, notTaken(err))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeWithin)
	defer cancel()
	if err := in.Take(ctx, m); err != nil { // it has waited for NATS, not for the reply
		refuse(w, notTaken(err))
		return
	}
	say(w, http.StatusAccepted, map[string]string{"id": m.ID})
}

// notTaken is why a message was not taken.
func notTaken(err error) error {
	switch {
	case errors.Is(err, plugins.ErrMalformed):
		return with(http.StatusBadRequest, err)
	case errors.Is(err, plugins.ErrTooLarge):
		return with(http.StatusRequestEntityTooLarge, err)
	case errors.Is(err, plugins.ErrIDUsed):
		return with(http.StatusUnauthorized, err)
	}
	return with(http.StatusServiceUnavailable, fmt.Errorf("the message was not stored; try again: %w", err))
}

func refuse(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if s, ok := errors.AsType[*status](err); ok {
		code = s.code
	}
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	say(w, code, map[string]string{"error": err.Error()})
}

func say(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(encoded(body), '\n')) // the client may be gone
}

// encoded is v in JSON; what it is called with can be encoded.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}
