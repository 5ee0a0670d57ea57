package openai

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

const callPrefix = "call_"

// A toolCall is a call of a tool that the client runs.
type toolCall struct {
	ID        string `json:"-"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	wait      string // what the agent waits under
}

// A result is what the client says that a call came to.
type result struct {
	conversation, wait, text string
}

// callID is the id of a call for its client. It says where the result goes.
func callID(agent, conversation, wait string) string {
	data, _ := json.Marshal([]string{agent, conversation, wait}) // texts always marshal
	return callPrefix + base64.RawURLEncoding.EncodeToString(data)
}

// callOf is the call that an id is of; ok is false for an id of another server.
func callOf(id, agent string) (r result, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, callPrefix))
	var fields []string
	if err != nil || !strings.HasPrefix(id, callPrefix) || json.Unmarshal(data, &fields) != nil || len(fields) != 3 {
		return r, false
	}
	r.conversation, r.wait = fields[1], fields[2]
	return r, fields[0] == agent && r.conversation != "" && r.wait != ""
}

// results are those behind the last message of the assistant, of calls in one session.
func results(a asked) (list []result) {
	for _, t := range slices.Backward(a.turns) {
		if t.role == roleAssistant {
			break
		}
		r, ok := callOf(t.call, a.model)
		if ok && (len(list) == 0 || list[0].conversation == r.conversation) {
			if r.text = t.text; strings.TrimSpace(r.text) == "" {
				r.text = "(no result)"
			}
			list = append(list, r)
		}
	}
	slices.Reverse(list)
	return list
}

// unanswered are the turns without those that are results.
func unanswered(turns []turn, list []result) []turn {
	if len(list) == 0 {
		return turns
	}
	return slices.DeleteFunc(slices.Clone(turns), func(t turn) bool { return t.call != "" })
}
