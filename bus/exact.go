package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// ReadFields reads some of the fields of an envelope into v, which may be no message: by their
// exact names, as decoding does, and of one that has more behind its JSON as well.
func ReadFields(data []byte, v any) error {
	err := json.Unmarshal(exact(data), v)
	if _, invalid := errors.AsType[*json.SyntaxError](err); !invalid {
		return err
	}
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(data)).Decode(&first) != nil {
		return err
	}
	return json.Unmarshal(exact(first), v)
}

// exact is the JSON of an envelope, or of a field of one, as encoding/json is to
// read it. That takes "Text" for "text", and we know nothing but lower case: any
// other name is overwritten by an unknown one. data stays as it is.
func exact(data []byte) []byte {
	result := data
	depth, read := 0, true // read: the value is one whose fields are read by name
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			start, end := i, endOfText(data, i)
			i = end - 1
			if depth > 1 && !read || !beforeColon(data, end) {
				continue
			}
			name := nameOf(data[start:end])
			if depth == 1 {
				read = nested(name)
			}
			if lowerCase(name) {
				continue
			}
			if &result[0] == &data[0] {
				if !json.Valid(data) {
					return data // it is refused, for what is in it now
				}
				result = bytes.Clone(data)
			}
			overwrite(result[start+1 : end-1])
		}
	}
	return result
}

// endOfText is where the string ends that starts at start.
func endOfText(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(data)
}

// beforeColon reports whether what ends at end is the name of a field.
func beforeColon(data []byte, end int) bool {
	for _, c := range data[end:] {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == ':'
		}
	}
	return false
}

// nameOf is the name that quoted stands for.
func nameOf(quoted []byte) []byte {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') < 0 {
		return name
	}
	s := ""
	if json.Unmarshal(quoted, &s) != nil {
		return name
	}
	return []byte(s)
}

// nested reports whether the value of a field has fields that we know. In any
// other, such as meta, names are the sender's own.
func nested(name []byte) bool {
	switch string(name) {
	case "media", "error", "origin", "history":
		return true
	}
	return false
}

func lowerCase(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

func overwrite(name []byte) {
	for i := range name {
		name[i] = '-'
	}
}
