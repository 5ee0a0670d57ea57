package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"
)

// mostBody is what a request may have: images are in it.
const mostBody = 32 << 20

// readBody reads a request whole: its bytes tell a repeat.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		f := badRequest("", "the body is larger than "+strconv.Itoa(mostBody>>20)+" MB")
		f.status = http.StatusRequestEntityTooLarge
		return nil, f
	}
	if err != nil {
		return nil, badRequest("", "the body breaks off: "+err.Error())
	}
	return data, nil
}

// decodeBody reads a body into v. Fields that v lacks are left out.
func decodeBody(data []byte, v any) error {
	if !utf8.Valid(data) {
		return badRequest("", "the body is not UTF-8")
	}
	err := json.Unmarshal(data, v)
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return badRequest(typ.Field, cmp.Or(typ.Field, "the body")+" cannot be of the type "+typ.Value)
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if err != nil {
		return badRequest("", "the body is no valid JSON: "+err.Error())
	}
	return nil
}

// quoted is foreign text for an error message.
func quoted(s string) string {
	const limit = 80
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return strconv.Quote(s)
}
