package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// mostNested is how deep the library reads. A message that is deeper would be the end of the
// connection to it, and of all its calls.
const mostNested = 1000

var errDeep = fmt.Errorf("it is nested deeper than %d", mostNested)

// unreadable is why the library cannot read a message; nil when it can.
func unreadable(text []byte) error {
	if deep(text) {
		return errDeep
	}
	if json.Valid(text) {
		return nil
	}
	return json.Unmarshal(text, new(json.RawMessage))
}

// deep reports whether text is nested too deep. What is no JSON may be, too.
func deep(text []byte) bool {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at += stringEnd(text[at:]) - 1
		case '{', '[':
			if depth++; depth > mostNested {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// isCut reports whether a message is one of which the end is missing.
func isCut(why error) bool {
	syntax, ok := errors.AsType[*json.SyntaxError](why)
	return ok && syntax.Error() == "unexpected end of JSON input"
}

// inPlaceOf is the answer in place of a message that cannot be read, so that its call does not wait
// for another one; nil when it answers none.
func inPlaceOf(text []byte, why error) []byte {
	if !isObject(text) || !bytes.Contains(text, []byte(`"jsonrpc"`)) { // a line for a log
		return nil
	}
	end := min(len(text), keptOfLong)
	id := answeredID(text[:end], text[len(text)-end:])
	if id == nil || string(id) == "null" {
		return nil
	}
	return unreadableAnswer(id, why)
}

func unreadableAnswer(id json.RawMessage, why error) []byte {
	return errorAnswer(id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer cannot be read: " + why.Error() + "; the outcome of the call is unknown"})
}
