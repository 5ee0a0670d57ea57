package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Cause is what a server said of an error: the first of words that is not empty,
// else the body as a person can read it, else the name of the status.
func Cause(body []byte, status int, words ...string) error {
	if word := cmp.Or(words...); word != "" {
		return errors.New(word)
	}
	if len(body) == 0 || body[0] == '<' {
		return errors.New(cmp.Or(strings.ToLower(http.StatusText(status)), "unknown error"))
	}
	return errors.New(string(body))
}

// EventError reads the error in an event, with or without an "error" around it.
// It is nil when the event is no JSON of that kind.
func EventError[E any](data []byte) *E {
	var wrapped struct {
		Error *E `json:"error"`
	}
	if json.Unmarshal(data, &wrapped) == nil && wrapped.Error != nil {
		return wrapped.Error
	}
	bare := new(E)
	if json.Unmarshal(data, bare) != nil {
		return nil
	}
	return bare
}
