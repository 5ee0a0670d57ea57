package gemini

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

var errNoAnswer = errors.New("server answered with something that is no content of a model; is base_url right?")

// statuses are the HTTP statuses of the names that errors have inside a stream.
var statuses = map[string]int{
	"INVALID_ARGUMENT":    http.StatusBadRequest,
	"FAILED_PRECONDITION": http.StatusBadRequest,
	"UNAUTHENTICATED":     http.StatusUnauthorized,
	"PERMISSION_DENIED":   http.StatusForbidden,
	"NOT_FOUND":           http.StatusNotFound,
	"RESOURCE_EXHAUSTED":  http.StatusTooManyRequests,
	"INTERNAL":            http.StatusInternalServerError,
	"UNAVAILABLE":         http.StatusServiceUnavailable,
	"DEADLINE_EXCEEDED":   http.StatusGatewayTimeout,
}

// A wireError is the error object of Google's APIs; proxies have just a string,
// or a code that HTTP does not have.
type wireError struct {
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
	Status  string          `json:"status"`
	Details []detail        `json:"details"`
}

// A detail is one of several types; the names of their fields do not clash.
type detail struct {
	Reason     string `json:"reason"`     // of an ErrorInfo
	RetryDelay string `json:"retryDelay"` // of a RetryInfo, as "7s"
	Violations []struct {
		Quota string `json:"quotaId"`
	} `json:"violations"` // of a QuotaFailure
}

func (e *wireError) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &e.Message)
	}
	type plain wireError
	return json.Unmarshal(data, (*plain)(e))
}

// statusError is the error of a response whose status is not 2xx.
func statusError(status int, header http.Header, body []byte) error {
	w := errorIn(body)
	e := llm.StatusError(status, header, w.cause(body, status))
	w.refine(e)
	return e
}

// errorIn is the error of a body, which is in a list when the answer would have
// been one; empty when there is none.
func errorIn(body []byte) *wireError {
	var one chunk
	if json.Unmarshal(body, &one) != nil {
		var list []chunk
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			one = list[0]
		}
	}
	return cmp.Or(one.Error, &wireError{})
}

// cause is what the server said, or what there is when it said nothing a
// program can read.
func (e *wireError) cause(body []byte, status int) error {
	return httpapi.Cause(body, status, e.Message, e.Status)
}

// streamed is an error that came after a status of 200. What is unknown counts
// as the server's own trouble, as the request had been accepted.
func (e *wireError) streamed() error {
	cause := e.cause(nil, 0)
	err := llm.Unavailable(cause)
	code, _ := strconv.Atoi(strings.Trim(string(e.Code), `"`))
	if code < 400 || code > 599 {
		code = statuses[e.Status]
	}
	if code != 0 {
		err = llm.StatusError(code, nil, cause)
	}
	e.refine(err)
	return err
}

// refine lets the API's own words say what the status leaves open.
func (e *wireError) refine(err *llm.Error) {
	switch {
	case e.isKey() || e.Status == "FAILED_PRECONDITION": // the key, or what is behind it: its country, its bills
		err.Code, err.Transient = llm.CodeProviderAuth, false
	case e.Status == "CANCELLED" || e.Status == "ABORTED": // not by us
		err.Code, err.Transient = llm.CodeProviderUnavailable, true
	case err.Code == llm.CodeValidation && e.isTooLong():
		err.TooLong = true
	}
	for _, d := range e.Details {
		if wait, bad := time.ParseDuration(d.RetryDelay); bad == nil {
			err.RetryAfter = max(err.RetryAfter, llm.RetryDelay(wait))
		}
		for _, v := range d.Violations {
			if strings.Contains(v.Quota, "PerDay") { // a 429 that no short wait will cure
				err.Transient = false
			}
		}
	}
}

// isKey knows a wrong key, for which the API says 400.
func (e *wireError) isKey() bool {
	for _, d := range e.Details {
		if d.Reason == "API_KEY_INVALID" {
			return true
		}
	}
	return strings.Contains(e.Message, "API key not valid") || strings.Contains(e.Message, "API key expired")
}

// isTooLong goes by the text: the API has no code for it.
func (e *wireError) isTooLong() bool {
	text := strings.ToLower(e.Message)
	return strings.Contains(text, "exceeds the maximum number of tokens") || strings.Contains(text, "token count exceeds")
}
