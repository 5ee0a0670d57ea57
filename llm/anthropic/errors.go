package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

var errNoAnswer = errors.New("server answered with something that is no message; is base_url right?")

// A wireError is the error object of the API; a gateway may have just a string.
type wireError struct {
	Type    string
	Message string
}

func (e *wireError) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &e.Message)
	}
	var object struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &object) != nil || object.Type == "" && object.Message == "" {
		object.Message = string(data) // of an unknown form, to be read by a person
	}
	e.Type, e.Message = object.Type, object.Message
	return nil
}

// statusError is the error of a response whose status is not 2xx.
func statusError(status int, header http.Header, body []byte) error {
	var said struct {
		Error   *wireError `json:"error"`
		Message string     `json:"message"` // without an error around it, as gateways do
	}
	_ = json.Unmarshal(body, &said) // what cannot be read is shown as it is
	w := cmp.Or(said.Error, &wireError{Message: said.Message})
	if w.Message == "" && w.Type == "" {
		w.Message = httpapi.Cause(body, status).Error()
	}
	return w.error(status, header)
}

// statuses are what the types of errors mean that come within a stream, after a
// status of 200.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      statusOverloaded,
}

const statusOverloaded = 529

// streamed is an error that came within a stream. One of an unknown type counts
// as the server's own trouble, as the request had been accepted.
func (e *wireError) streamed() error {
	if status := statuses[e.Type]; status != 0 {
		return e.error(status, nil)
	}
	return llm.Unavailable(e.cause())
}

func (e *wireError) cause() error { return httpapi.Cause(nil, 0, e.Message, e.Type) }

// error lets the text say what the API has no type for: there is none for a
// prompt that is too long, nor for an account that has run dry.
func (e *wireError) error(status int, header http.Header) *llm.Error {
	err := llm.StatusError(status, header, e.cause())
	if err.Code != llm.CodeValidation {
		return err
	}
	text := strings.ToLower(e.Message)
	for _, long := range []string{"prompt is too long", "exceed context limit", "context window"} {
		err.TooLong = err.TooLong || strings.Contains(text, long)
	}
	if strings.Contains(text, "credit balance is too low") {
		err.Code = llm.CodeProviderAuth
	}
	return err
}

func errorEvent(data []byte) error {
	e := httpapi.EventError[wireError](data)
	if e == nil {
		e = &wireError{Message: string(data)}
	}
	return e.streamed()
}
