package openai

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// Calls are the tool calls of one answer as far as they have come. Their place
// here is the index we give them: the server's is often missing or always 0.
type calls []*call

type call struct {
	index    *place // the server's
	id, name string
	args     strings.Builder
}

// delta puts the i-th of n pieces in one chunk with the call it belongs to. The
// id, the name and the arguments are given once, however often the server repeats
// them; a call without an id gets one.
func (cs *calls) delta(t toolCall, i, n int, names *httpapi.ToolNames, host string) *llm.CallDelta {
	if t.Index == nil && n > 1 {
		t.Index = new(place(i))
	}
	at := cs.find(t)
	isNew := at < 0
	if isNew {
		at = len(*cs)
		*cs = append(*cs, &call{index: t.Index, id: string(t.ID)})
	}
	c := (*cs)[at]
	d := &llm.CallDelta{Index: at, Args: c.news(string(t.Function.Arguments)), Meta: callMetaOf(t.Extra, host)}
	if isNew {
		d.ID = cmp.Or(c.id, "call_"+rand.Text())
	}
	if c.name == "" && t.Function.Name != "" {
		c.name = string(t.Function.Name)
		d.Name = names.FromWire(c.name)
	}
	c.args.WriteString(d.Args)
	return d
}

// find is the place of the call that t continues, -1 when it begins one.
func (cs calls) find(t toolCall) int {
	if t.ID != "" {
		at := slices.IndexFunc(cs, func(c *call) bool { return c.id == string(t.ID) && sameIndex(c.index, t.Index) })
		if at >= 0 || t.Function.Name != "" || t.Index == nil {
			return at
		}
		// vLLM had an id of its own for each piece.
	}
	last := len(cs) - 1
	for last >= 0 && t.Index != nil && !sameIndex(cs[last].index, t.Index) {
		last--
	}
	if last >= 0 && t.Function.Name != "" && cs[last].isOver(string(t.Function.Name)) {
		return -1
	}
	return last
}

// sameIndex holds when one of the two is missing: then it says nothing.
func sameIndex(x, y *place) bool { return x == nil || y == nil || *x == *y }

// isOver says whether a piece that names a tool, but no id, must be the begin of
// another call.
func (c *call) isOver(name string) bool {
	return c.name != "" && (c.name != name || json.Valid([]byte(c.args.String())))
}

// news is what args adds to the arguments so far: nothing when they are complete, and
// args is all of them once more, as some gateways send it in the end.
func (c *call) news(args string) string {
	soFar := c.args.String()
	if len(args) < len(soFar) || !strings.HasPrefix(soFar, "{") || !json.Valid([]byte(soFar)) {
		return args
	}
	var unquoted string
	if args == soFar || json.Unmarshal([]byte(args), &unquoted) == nil && unquoted == soFar {
		return ""
	}
	return args
}

// A callMeta is what Google sends with a call and wants back with it: without the
// signature of what the model thought it refuses the next request.
type callMeta struct {
	From  string          `json:"from"` // the server's host
	Extra json.RawMessage `json:"extra_content"`
}

func callMetaOf(extra json.RawMessage, host string) json.RawMessage {
	if len(extra) == 0 || string(extra) == "null" {
		return nil
	}
	meta, _ := json.Marshal(callMeta{From: host, Extra: extra}) // of JSON: never fails
	return meta
}

// extraFor is what the server at host wants back with a call.
func extraFor(meta json.RawMessage, host string) json.RawMessage {
	var m callMeta
	if len(meta) == 0 || json.Unmarshal(meta, &m) != nil || m.From != host {
		return nil
	}
	return m.Extra
}
