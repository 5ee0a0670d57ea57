package fastjson

import "bytes"

// Deepest is how many objects and arrays may stand in each other in what comes from others.
// In a log it stands some levels further down, and encoding/json reads no more than 10,000.
const Deepest = 500

// TooDeep reports whether more than Deepest objects and arrays of a JSON text stand in each other.
func TooDeep(data []byte) bool {
	if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) <= Deepest { // as in most
		return false
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = lastOfText(data, i)
		case '[', '{':
			if depth++; depth > Deepest {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

// Shallow is a JSON text with null in the place of all that is too deep in it, and data itself where
// nothing is.
func Shallow(data []byte) []byte {
	if !TooDeep(data) {
		return data
	}
	rest := make([]byte, 0, len(data))
	depth := 0
	for i := 0; i < len(data); i++ {
		start, inside := i, depth <= Deepest
		switch data[i] {
		case '"':
			i = lastOfText(data, i)
		case '[', '{':
			depth++
			if inside && depth > Deepest {
				rest = append(rest, "null"...)
				inside = false
			}
		case ']', '}':
			depth--
		}
		if inside {
			rest = append(rest, data[start:i+1]...)
		}
	}
	return rest
}

// lastOfText is where the string ends that begins at start: at its last byte, or at the last of data.
func lastOfText(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(data) - 1
}
