package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// standIn is the id of a request for the library, in place of a number that it would alter: it
// reads numbers as float64, which is too little for the time in nanoseconds.
const standIn = "agenthost:id"

// altersID reports whether the library would answer under another id than that of the request.
func (c *call) altersID() bool {
	var id any
	_ = json.Unmarshal(c.ID, &id) // without an id it stays nil
	if _, isNumber := id.(float64); !isNumber {
		return false // texts stay as they are
	}
	read, _ := json.Marshal(id) // which was read from JSON
	return !bytes.Equal(read, c.ID)
}

// A sameID writes what the library answers under the id that the client has sent.
type sameID struct {
	http.ResponseWriter
	id json.RawMessage
}

// Unwrap is for http.ResponseController.
func (s *sameID) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Flush is for the library. That the client is gone shows in what is written next.
func (s *sameID) Flush() { _ = http.NewResponseController(s.ResponseWriter).Flush() }

// Write has one answer or less: the library writes each at once, and its id before its result.
func (s *sameID) Write(data []byte) (int, error) {
	if _, err := s.ResponseWriter.Write(bytes.Replace(data, []byte(`"id":"`+standIn+`"`), append([]byte(`"id":`), s.id...), 1)); err != nil {
		return 0, err
	}
	return len(data), nil
}
