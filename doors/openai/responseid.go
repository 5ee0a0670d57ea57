package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

const responsePrefix = "resp_"

// responseID is the id of a response. It says where it is found again, which no token
// but its own reaches.
func (r record) responseID() string {
	data, _ := json.Marshal([]any{r.Agent, r.Conversation, r.ID, r.At.Unix(), r.Since}) // texts and numbers always marshal
	return responsePrefix + base64.RawURLEncoding.EncodeToString(data)
}

// recordOf is the record of a response; ok is false for what is no id of ours.
func recordOf(id string) (r record, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, responsePrefix))
	if err != nil || !strings.HasPrefix(id, responsePrefix) {
		return r, false
	}
	var at int64
	fields := []any{&r.Agent, &r.Conversation, &r.ID, &at, &r.Since}
	if json.Unmarshal(data, &fields) != nil || len(fields) != 5 || r.Agent == "" || r.Conversation == "" || r.ID == "" {
		return r, false
	}
	r.At = time.Unix(at, 0).UTC()
	return r, true
}
