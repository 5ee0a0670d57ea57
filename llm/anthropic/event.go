package anthropic

import (
	"encoding/json"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// An event is one of a stream, by its Type. Fields that are not needed are not
// read, so they can be of any type.
type event struct {
	Type    string        `json:"type"`
	Message message       `json:"message"` // message_start
	Index   httpapi.Count `json:"index"`   // content_block_*
	Block   wireBlock     `json:"content_block"`
	Delta   wireDelta     `json:"delta"` // content_block_delta, message_delta
	Usage   wireUsage     `json:"usage"` // message_delta
	Error   *wireError    `json:"error"`
}

// isKnown reports whether events of a type are read.
func isKnown(kind string) bool {
	switch kind {
	case "error", "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta":
		return true
	}
	return false
}

// readEvent reads an event. One of a type that is not known, whose fields may be of other types,
// has nothing but that.
func readEvent(data []byte, e *event) error {
	err := json.Unmarshal(data, e)
	if err == nil {
		return nil
	}
	var kind struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &kind) != nil || kind.Type == "" || isKnown(kind.Type) || len(kind.Error) > 0 {
		return err
	}
	*e = event{Type: kind.Type}
	return nil
}

// A message is the whole answer, as a server that does not stream sends it; at
// the start of a stream nothing is in it yet.
type message struct {
	ID      json.RawMessage `json:"id"`
	Type    string          `json:"type"`
	Content []wireBlock     `json:"content"`
	Stop    httpapi.Loose   `json:"stop_reason"`
	Usage   wireUsage       `json:"usage"`
	Error   *wireError      `json:"error"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        httpapi.Loose   `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// A wireDelta needs no type: only one of its fields is there.
type wireDelta struct {
	Text      string        `json:"text"`
	Thinking  string        `json:"thinking"`
	Signature string        `json:"signature"`
	Input     string        `json:"partial_json"`
	Stop      httpapi.Loose `json:"stop_reason"`
}

// A wireUsage has its numbers as floats, because some servers do. The input is
// what no cache had a part in. One of another type is unknown.
type wireUsage struct {
	Input      httpapi.Count `json:"input_tokens"`
	CacheRead  httpapi.Count `json:"cache_read_input_tokens"`
	CacheWrite httpapi.Count `json:"cache_creation_input_tokens"`
	Output     httpapi.Count `json:"output_tokens"`
}

func (u *wireUsage) UnmarshalJSON(data []byte) error {
	type plain wireUsage
	httpapi.Readable(data, (*plain)(u))
	return nil
}

// add takes from a later report what it has: the output counts all so far, and
// some servers know the input only at the end.
func (u *wireUsage) add(later wireUsage) {
	for _, n := range []struct {
		to   *httpapi.Count
		from httpapi.Count
	}{{&u.Input, later.Input}, {&u.CacheRead, later.CacheRead}, {&u.CacheWrite, later.CacheWrite}, {&u.Output, later.Output}} {
		if n.from != 0 {
			*n.to = n.from
		}
	}
}

func (u *wireUsage) usage() *llm.Usage {
	return &llm.Usage{
		Input:      int64(u.Input + u.CacheRead + u.CacheWrite),
		CacheRead:  int64(u.CacheRead),
		CacheWrite: int64(u.CacheWrite),
		Output:     int64(u.Output),
	}
}
