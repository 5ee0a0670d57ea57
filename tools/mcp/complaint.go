package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
)

// A complaint is an answer that has no id of a request: a server that cannot read one
// says so in this way. To the library it would be the end of the connection, and of
// all its calls.

// errNoRequest is what a call comes to whose result has no id.
var errNoRequest = errors.New("the answer names no request")

// withoutComplaints is what a message, or a list of them, has besides complaints; nil
// when that is nothing. junk gets each complaint. The library knows no lists over
// HTTP, so of a list from which all but one message is left out remains that one.
func withoutComplaints(text []byte, junk func([]byte)) []byte {
	if isComplaint(text) && json.Valid(text) {
		junk(text)
		return nil
	}
	if !bytes.HasPrefix(text, []byte("[")) {
		return text
	}
	return listWithoutComplaints(text, junk)
}

// toldOfList is how many complaints of one list junk gets: it may have millions.
const toldOfList = 10

func listWithoutComplaints(list []byte, junk func([]byte)) []byte {
	isOut := func(item []byte) bool { return isComplaint(item) || !isObject(item) }
	if !hasSuch(parts(list), isOut) || !json.Valid(list) {
		return list
	}
	var others []byte // each after a comma
	left, out := 0, 0
	for item := range parts(list) {
		if !isOut(item) {
			others = append(append(others, ','), item...)
			left++
			continue
		}
		if out++; out <= toldOfList {
			junk(item)
		}
	}
	switch left {
	case 0:
		return nil
	case 1:
		return others[1:]
	}
	others[0] = '['
	return append(others, ']')
}

func hasSuch(items iter.Seq[[]byte], such func([]byte) bool) bool {
	for item := range items {
		if such(item) {
			return true
		}
	}
	return false
}

func isObject(text []byte) bool { return bytes.HasPrefix(text, []byte("{")) }

// isComplaint reports whether an object neither is a request nor has the id of one.
// As in the library, names are exact, and of two fields of one name the last counts.
func isComplaint(object []byte) bool {
	if !isObject(object) {
		return false
	}
	var id []byte
	for field := range parts(object) {
		end := stringEnd(field)
		switch name(field[:end]) {
		case "method":
			return false
		case "id":
			_, value, _ := bytes.Cut(field[end:], []byte(":"))
			id = bytes.TrimSpace(value)
		}
	}
	return len(id) == 0 || !bytes.ContainsAny(id[:1], `"-0123456789`)
}

// name is the name of a field, or nothing when it is longer than those that count,
// so that no memory is spent on it.
func name(quoted []byte) (name string) {
	const longest = len(`"method"`) * len(`\u006d`)
	if len(quoted) <= longest {
		_ = json.Unmarshal(quoted, &name) // what is no JSON is no complaint
	}
	return name
}

// parts are the fields of an object, or the items of a list, as they are written.
// What is no JSON has some too.
func parts(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		depth, start := 0, 0
		goOn := func(end int) bool {
			part := bytes.TrimSpace(text[start:end])
			start = end + 1
			return len(part) == 0 || yield(part)
		}
		for at := 0; at < len(text); at++ {
			switch text[at] {
			case '"':
				at += stringEnd(text[at:]) - 1
			case '{', '[':
				if depth++; depth == 1 {
					start = at + 1
				}
			case '}', ']':
				if depth--; depth == 0 {
					goOn(at)
					return
				}
			case ',':
				if depth == 1 && !goOn(at) {
					return
				}
			}
		}
	}
}

// stringEnd is the length of the JSON string that text begins with; of what begins
// with none, or with half of one, it is that of the text.
func stringEnd(text []byte) int {
	for at := 1; at < len(text); at++ {
		next := bytes.IndexAny(text[at:], `"\`)
		if next < 0 {
			break
		}
		if at += next; text[at] == '"' {
			return at + 1
		}
		at++ // what is escaped
	}
	return len(text)
}

// refusedAs is the error of a complaint, or of the first one in a list, as the answer
// to a request; errNoRequest when it has none.
func refusedAs(text []byte, id json.RawMessage) ([]byte, error) {
	if !isObject(text) {
		for item := range parts(text) {
			text = item
			break
		}
	}
	var got head
	if err := json.Unmarshal(text, &got); err != nil || got.Error == nil {
		return nil, errNoRequest
	}
	return errorAnswer(id, got.Error), nil
}
