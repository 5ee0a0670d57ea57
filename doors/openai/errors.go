package openai

import (
	"encoding/json"
	"errors"
	"net/http"

	"agenthost/bus"
	"agenthost/doors"
	"agenthost/internal/httpauth"
	"agenthost/llm"
)

// A failure is an error as the API words it.
type failure struct {
	status int
	after  string // Retry-After
	// lasting says that the same request would fail in the same way: the client is
	// told not to repeat it.
	lasting bool

	Message string   `json:"message"`
	Type    string   `json:"type"`
	Param   *string  `json:"param"`
	Code    llm.Code `json:"code"`
}

func (f *failure) Error() string { return f.Message }

const (
	invalidRequest  = "invalid_request_error"
	permissionError = "permission_error"
	serverError     = "server_error"
)

// badRequest is about one field of the body, or about the whole when param is empty.
func badRequest(param, message string) *failure {
	f := &failure{status: http.StatusBadRequest, Message: message, Type: invalidRequest, Code: llm.CodeValidation}
	if param != "" {
		f.Param = &param
	}
	return f
}

func notFound(param, message string) *failure {
	f := badRequest(param, message)
	f.status = http.StatusNotFound
	return f
}

// refused is a request that is not let in.
func refused(no *httpauth.Refusal) *failure {
	f := badRequest("", no.Why)
	f.status, f.Type = no.Status, permissionError
	if no.Status == http.StatusUnauthorized {
		f.Type = "authentication_error"
	}
	return f
}

// Starting answers while the host has no NATS or stops, for a reason.
func Starting(w http.ResponseWriter, reason string) { writeError(w, away(reason)) }

func away(reason string) *failure {
	return &failure{status: http.StatusServiceUnavailable, after: "2", Message: reason, Type: serverError, Code: llm.CodeInternal}
}

// statuses are those of a run that failed, by its code; 500 otherwise.
var statuses = map[llm.Code]int{
	llm.CodeValidation:          http.StatusBadRequest,
	llm.CodeContentFilter:       http.StatusBadRequest,
	llm.CodeToolDenied:          http.StatusForbidden,
	llm.CodeCancelled:           http.StatusConflict,
	llm.CodeRateLimited:         http.StatusTooManyRequests,
	llm.CodeProviderRateLimit:   http.StatusTooManyRequests,
	llm.CodeBudgetExceeded:      http.StatusTooManyRequests,
	llm.CodeProviderAuth:        http.StatusBadGateway,
	llm.CodeProviderUnavailable: http.StatusBadGateway,
	llm.CodeRunTimeout:          http.StatusGatewayTimeout,
}

// failed is a run that ended with an error. A repeat would get the same.
func failed(e *bus.Error) *failure {
	f := &failure{status: statuses[llm.Code(e.Code)], lasting: true, Message: e.Message, Type: serverError, Code: llm.Code(e.Code)}
	switch f.status {
	case 0:
		f.status = http.StatusInternalServerError
	case http.StatusBadRequest, http.StatusConflict:
		f.Type = invalidRequest
	case http.StatusForbidden:
		f.Type = permissionError
	case http.StatusTooManyRequests:
		f.Type = "rate_limit_error"
	}
	return f
}

// explained is any error as the API words it.
func (d *door) explained(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	switch {
	case errors.Is(err, bus.ErrMalformed):
		return badRequest("", err.Error())
	case isAway(err):
		return away("NATS is away; try again")
	}
	d.log.Error().Err(err).Msg("serve a request: failed")
	return &failure{status: http.StatusInternalServerError, Message: "an error of this host; its log says more", Type: serverError, Code: llm.CodeInternal}
}

// isAway reports whether an error is that NATS is away, or does not answer.
func isAway(err error) bool {
	return errors.Is(err, doors.ErrAway) || errors.Is(err, errTimeout) || bus.Away(err)
}

func writeError(w http.ResponseWriter, f *failure) {
	h := w.Header()
	if f.after != "" {
		h.Set("Retry-After", f.after)
	}
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if f.lasting {
		h.Set("X-Should-Retry", "false")
	}
	writeJSON(w, f.status, map[string]any{"error": f})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
