package httpapi

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// A Count is a number of tokens as servers write it: a number, one in a string, or
// anything else, which counts as unknown and is 0. It keeps no answer from being read.
type Count float64

// mostCounted is more than any model counts, and fits into an int64.
const mostCounted = 1 << 53

// UnmarshalJSON returns no error.
func (c *Count) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(data), `" `), 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > mostCounted {
		n = 0
	}
	*c = Count(n)
	return nil
}

// A Loose string is a JSON string, nothing for null, and any other value as it
// is written: servers send ids as numbers and arguments as objects.
type Loose string

// UnmarshalJSON takes any value.
func (l *Loose) UnmarshalJSON(data []byte) error {
	switch {
	case data[0] == '"':
		return json.Unmarshal(data, (*string)(l))
	case string(data) != "null":
		*l = Loose(data)
	}
	return nil
}

// Readable decodes what can be read of data into v; of another type it is left empty.
// It is for what stands beside an answer, and may not cost the answer.
func Readable(data []byte, v any) { _ = json.Unmarshal(data, v) }

// SaysNothing reports whether a JSON value is one that servers write for one that is
// empty: some languages make [] of an empty object.
func SaysNothing(data []byte) bool {
	switch string(data) {
	case "null", "[]", `""`, "false":
		return true
	}
	return false
}
