package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"agenthost/internal/control"
	"agenthost/internal/httpauth"

	"github.com/rs/zerolog"
)

// Prefix is the path below which everything is.
const Prefix = "/api"

// mostBody bounds what is read of a request.
const mostBody = 1 << 20

// Options are what an API goes by.
type Options struct {
	Auth       *httpauth.Auth
	Operations []control.Operation
	Events     http.Handler // of /api/events; nil: there are none
	Version    string       // of the program, for OpenAPI
	Log        zerolog.Logger
}

// An API serves the operations.
type API struct {
	opt     Options
	byPath  map[string]control.Operation
	openAPI func() ([]byte, error) // made when first asked for: it takes longer than all else at a start
}

// New makes an API.
func New(opt Options) *API {
	a := &API{opt: opt, byPath: map[string]control.Operation{}}
	a.openAPI = sync.OnceValues(func() ([]byte, error) { return OpenAPI(opt.Operations, opt.Version) })
	for _, o := range opt.Operations {
		if o.Path != "" {
			a.byPath[Prefix+o.Path] = o
		}
	}
	return a
}

// Method is the method by which an operation is asked for.
func Method(o control.Operation) string {
	if o.Changes {
		return http.MethodPost
	}
	return http.MethodGet
}

// Role is the role that an operation needs.
func Role(o control.Operation) httpauth.Role {
	if o.Changes || o.Admin {
		return httpauth.Admin
	}
	return httpauth.Read
}

// ServeHTTP answers a request below Prefix.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch o, known := a.byPath[r.URL.Path]; {
	case r.URL.Path == Prefix+"/openapi.json":
		onlyRead(a.describe)(w, r)
	case r.URL.Path == Prefix+"/me":
		onlyRead(a.me)(w, r)
	case r.URL.Path == Prefix+"/events" && a.opt.Events != nil:
		onlyRead(a.opt.Events.ServeHTTP)(w, r)
	case !known:
		a.unknown(w, r)
	default:
		a.serve(w, r, o)
	}
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// onlyRead serves what is asked for by GET.
func onlyRead(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if reads(r) {
			serve(w, r)
			return
		}
		refuseMethod(w, r, http.MethodGet)
	}
}

// refuseMethod answers a request for something that is asked for by another method.
func refuseMethod(w http.ResponseWriter, r *http.Request, method string) {
	allowed := method
	if method == http.MethodGet {
		allowed += ", " + http.MethodHead
	}
	w.Header().Set("Allow", allowed)
	WriteError(w, http.StatusMethodNotAllowed, fmt.Errorf("%s takes %s", r.URL.Path, method))
}

// describe serves the description of the operations to those who may read.
func (a *API) describe(w http.ResponseWriter, r *http.Request) {
	if _, status, err := a.opt.Auth.Check(r, httpauth.Read); err != nil {
		WriteError(w, status, err)
		return
	}
	description, err := a.openAPI()
	if err != nil {
		WriteError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(description) // the client may be gone
}

// unknown answers a path that there is not. Without a token nothing is said of paths.
func (a *API) unknown(w http.ResponseWriter, r *http.Request) {
	if _, status, err := a.opt.Auth.Check(r, httpauth.Read); err != nil {
		WriteError(w, status, err)
		return
	}
	WriteError(w, http.StatusNotFound, fmt.Errorf("there is no %s; %s/openapi.json lists the operations", r.URL.Path, Prefix))
}

// serve carries an operation out.
func (a *API) serve(w http.ResponseWriter, r *http.Request, o control.Operation) {
	method := Method(o)
	if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
		refuseMethod(w, r, method)
		return
	}
	caller, status, err := a.opt.Auth.Check(r, Role(o))
	if err != nil {
		WriteError(w, status, err)
		return
	}
	request, status, err := read(w, r, o)
	if err != nil {
		WriteError(w, status, err)
		return
	}
	out, err := o.Ask(r.Context(), CallerOf(caller), request)
	if err != nil {
		WriteError(w, statusOf(err), err)
		return
	}
	a.write(w, r, out)
}

func (a *API) write(w http.ResponseWriter, r *http.Request, out any) {
	data, err := json.Marshal(out)
	if err != nil {
		a.opt.Log.Error().Err(err).Str("path", r.URL.Path).Msg("encode answer")
		WriteError(w, http.StatusInternalServerError, errors.New("the answer could not be encoded; the log of the host says why"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // the client may be gone
}

// CallerOf is a caller of HTTP as operations know one.
func CallerOf(c httpauth.Caller) control.Caller {
	caller := control.Caller{Name: c.Name, Door: control.DoorAPI}
	if c.Limited() {
		caller.Reaches = c.Reaches
	}
	return caller
}

// read is the request for an operation as JSON.
func read(w http.ResponseWriter, r *http.Request, o control.Operation) (request []byte, status int, err error) {
	fields := fieldsOf(o.Served().In)
	if !o.Changes {
		request, err = fields.fromQuery(r.URL.Query())
		return request, http.StatusBadRequest, err
	}
	if len(r.URL.RawQuery) > 0 {
		return nil, http.StatusBadRequest, errors.New("this takes no query parameters; send a JSON object as the body")
	}
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return nil, http.StatusUnsupportedMediaType, fmt.Errorf("the body is %q; send JSON with Content-Type: application/json", kind)
		}
	}
	request, err = io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is too large; send %d bytes at most", mostBody)
	}
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("read the body: %w", err)
	}
	return request, http.StatusBadRequest, fields.check(request)
}

// statusOf is the status of an error of an operation.
func statusOf(err error) int {
	status, failed := strconv.Atoi(control.CodeOf(err))
	if failed != nil || status < http.StatusBadRequest {
		return http.StatusInternalServerError
	}
	return status
}

// An Error is why a request was not carried out.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ErrorBody is the body of an answer with an error.
type ErrorBody struct {
	Error Error `json:"error"`
}

// WriteError answers with an error. Its code is the status in words, such as not_found.
func WriteError(w http.ResponseWriter, status int, err error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "2")
	}
	w.WriteHeader(status)
	code := strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
	_ = json.NewEncoder(w).Encode(ErrorBody{Error{code, err.Error()}}) // the client may be gone
}
