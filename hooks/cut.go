package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Cut says of a request that it had to be shortened to fit into one message.
type Cut struct {
	// Object holds the whole request, in AGENT_FILES, until the handler has answered.
	// It is empty when it could not be stored.
	Object string   `json:"object,omitempty"`
	Size   int      `json:"size"` // of the whole request, in bytes
	Args   []string `json:"args"` // that are shortened
}

// bounds are how much of a value is left: bytes of a string, items of a list and fields
// of an object, and how deep they are nested.
type bounds struct{ text, items, depth int }

// Least of these are left before anything else is made shorter.
const (
	leastText  = 4 << 10
	leastItems = 16
	deepest    = 1 << 20
)

// steps are the bounds to try, from the widest: long texts first, as what has the most
// is mostly one of them, then lists, then depth. Even where nothing is left of depth
// and lists, a text that is not nested is still there.
func steps(room int) (list []bounds) {
	b := bounds{text: room, items: room, depth: deepest}
	add := func(n *int, least int) {
		for *n > least {
			*n = max(*n/2, least)
			list = append(list, b)
		}
	}
	add(&b.text, leastText)
	add(&b.items, leastItems)
	b.depth = 16
	add(&b.depth, 2)
	add(&b.text, 16)
	add(&b.items, 1)
	return list
}

// cutTo shortens args until encode makes at most room bytes of them. What cannot be
// shortened so far becomes null.
func cutTo(args Args, room int, encode func(Args, []string) ([]byte, error)) ([]byte, error) {
	values := map[string]any{}
	for name, value := range args {
		d := json.NewDecoder(bytes.NewReader(value))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		values[name] = v
	}
	for _, b := range append(steps(room), bounds{depth: -1}) {
		now, names := maps.Clone(args), []string(nil)
		for name, value := range values {
			short, cut := b.shorten(value, 0)
			if !cut {
				continue
			}
			encoded, err := json.Marshal(short)
			if err != nil {
				return nil, err
			}
			now[name], names = encoded, append(names, name)
		}
		slices.Sort(names)
		data, err := encode(now, names)
		if err != nil || len(data) <= room {
			return data, err
		}
	}
	return nil, fmt.Errorf("%d bytes are too few for a request", room)
}

// shorten is what is left of v, and whether that is less.
func (b bounds) shorten(v any, depth int) (short any, cut bool) {
	if depth > b.depth && v != nil {
		return nil, true
	}
	switch v := v.(type) {
	case string:
		return b.shortText(v)
	case json.Number:
		if len(v) > b.text {
			return nil, true
		}
	case []any:
		return b.shortList(v, depth)
	case map[string]any:
		return b.shortObject(v, depth)
	}
	return v, false
}

func (b bounds) shortText(s string) (short any, cut bool) {
	if len(s) <= b.text {
		return s, false
	}
	n := b.text
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s [cut: %d bytes in all]", s[:n], len(s)), true
}

// shortList leaves the last items: of messages those are the newest.
func (b bounds) shortList(list []any, depth int) (short any, cut bool) {
	left := list[max(0, len(list)-b.items):]
	cut = len(left) < len(list)
	items := make([]any, len(left))
	for i, v := range left {
		item, less := b.shorten(v, depth+1)
		items[i], cut = item, cut || less
	}
	return items, cut
}

func (b bounds) shortObject(fields map[string]any, depth int) (short any, cut bool) {
	names := slices.Collect(maps.Keys(fields))
	names = slices.DeleteFunc(names, func(name string) bool { return len(name) > b.text })
	if len(names) > b.items {
		slices.SortFunc(names, byWeight)
		names = names[:b.items]
	}
	cut = len(names) < len(fields)
	left := make(map[string]any, len(names))
	for _, name := range names {
		value, less := b.shorten(fields[name], depth+1)
		left[name], cut = value, cut || less
	}
	return left, cut
}

// weighty are the fields of messages that hooks look at, the weightiest first: a field
// that a sender makes up does not push them out.
var weighty = []string{
	"text", "from", "id", "kind", "to", "role", "type", "parts", "content", "context", "args", "name", "media",
	"command", "url", "object", "in_reply_to", "thread", "group", "meta",
}

func byWeight(a, b string) int {
	weight := func(name string) int {
		if i := slices.Index(weighty, name); i >= 0 {
			return i
		}
		return len(weighty)
	}
	return cmp.Or(cmp.Compare(weight(a), weight(b)), strings.Compare(a, b))
}
