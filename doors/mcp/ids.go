package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// largestID is how far the SDK, which reads numbers as float64, takes each for itself.
const largestID = 1<<53 - 1

// checkID refuses the id of a request that the SDK would alter: the answer would be one to another
// request, or to none.
func checkID(id json.RawMessage) error {
	var read any
	_ = json.Unmarshal(id, &read) // without an id it stays nil
	if n, isNumber := read.(float64); isNumber && (math.Abs(n) > largestID || n != math.Trunc(n)) {
		return fmt.Errorf("its id is %.40s; want a text, or a whole number up to %d", id, largestID)
	}
	return nil
}

// refuseIDs answers a body with such an id, and reports whether it has.
func refuseIDs(w http.ResponseWriter, body []byte) bool {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) != nil {
		list = []json.RawMessage{body}
	}
	for _, one := range list {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(one, &m) // what is no message is refused by the SDK
		if err := checkID(bytes.TrimSpace(m.ID)); err != nil {
			answerJSON(w, http.StatusBadRequest, errorOf(m.ID, jsonrpc.CodeInvalidRequest, noMessage+err.Error()))
			return true
		}
	}
	return false
}
