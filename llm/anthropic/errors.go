package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"agenthost/llm"
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

// statusError is the error of a response that is none of 2xx.
func statusError(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // half a text is better than none
	var said struct {
		Error   *wireError `json:"error"`
		Message string     `json:"message"` // without an error around it, as gateways do
	}
	_ = json.Unmarshal(body, &said) // what cannot be read is shown as it is
	w := cmp.Or(said.Error, &wireError{Message: said.Message})
	body = bytes.TrimSpace(body)
	switch {
	case w.Message != "" || w.Type != "":
	case len(body) == 0 || body[0] == '<':
		w.Message = cmp.Or(strings.ToLower(http.StatusText(res.StatusCode)), "unknown error")
	default:
		w.Message = string(body)
	}
	return w.error(res.StatusCode, res.Header)
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

func (e *wireError) cause() error { return errors.New(cmp.Or(e.Message, e.Type, "unknown error")) }

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

// errorEvent is an error with or without an "error" around it.
func errorEvent(data []byte) error {
	var wrapped struct {
		Error *wireError `json:"error"`
	}
	if json.Unmarshal(data, &wrapped) == nil && wrapped.Error != nil {
		return wrapped.Error.streamed()
	}
	var bare wireError
	if json.Unmarshal(data, &bare) != nil {
		bare.Message = string(data)
	}
	return bare.streamed()
}
