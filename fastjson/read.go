package fastjson

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Valid is [json.Valid].
func Valid(data []byte) bool {
	r := reader{data: data}
	return r.value() && r.end() || json.Valid(data)
}

// Fields calls field with the name and the value of each field of an object,
// until that is false. It is false as well when data is no object, or one that
// is left to encoding/json, which may be seen as late as after its last field.
// Names and values are parts of data.
func Fields(data []byte, field func(name, value []byte) bool) bool {
	r := reader{data: data}
	return r.fields(field) && r.end()
}

// Plain is what a string says that stands in JSON as it is; not ok: it has
// escapes, or the value is none. value is a valid one, in valid UTF-8.
func Plain(value []byte) (text []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	text = value[1 : len(value)-1]
	return text, bytes.IndexByte(text, '\\') < 0
}

// mostNested bounds the recursion, far below what encoding/json allows.
const mostNested = 100

// A reader checks JSON as it goes over it. Its methods are true when what they
// are for was there: false may also mean that it is rare, such as a fraction or
// an escape by number.
type reader struct {
	data  []byte
	next  int
	depth int
}

func (r *reader) end() bool {
	r.space()
	return r.next == len(r.data)
}

// peek is the byte that comes next, 0 at the end.
func (r *reader) peek() byte {
	if r.next == len(r.data) {
		return 0
	}
	return r.data[r.next]
}

func (r *reader) space() {
	for ; r.next < len(r.data); r.next++ {
		switch r.data[r.next] {
		case ' ', '\t', '\r', '\n':
		default:
			return
		}
	}
}

// sign takes c and the white space before it, if it is there.
func (r *reader) sign(c byte) bool {
	r.space()
	if r.peek() != c {
		return false
	}
	r.next++
	return true
}

func (r *reader) value() bool {
	r.space()
	switch r.peek() {
	case '"':
		return r.text()
	case '{':
		return r.fields(func(_, _ []byte) bool { return true })
	case '[':
		return r.items('[', ']', r.value)
	case 't':
		return r.word("true")
	case 'f':
		return r.word("false")
	case 'n':
		return r.word("null")
	default:
		return r.integer()
	}
}

func (r *reader) fields(field func(name, value []byte) bool) bool {
	return r.items('{', '}', func() bool {
		r.space()
		start := r.next
		if !r.text() {
			return false
		}
		name := r.data[start+1 : r.next-1]
		if !r.sign(':') {
			return false
		}
		r.space()
		start = r.next
		return r.value() && field(name, r.data[start:r.next])
	})
}

func (r *reader) items(opening, closing byte, item func() bool) bool {
	if r.depth++; r.depth > mostNested || !r.sign(opening) {
		return false
	}
	defer func() { r.depth-- }()
	if r.sign(closing) {
		return true
	}
	for item() {
		if !r.sign(',') {
			return r.sign(closing)
		}
	}
	return false
}

// text takes a string.
func (r *reader) text() bool {
	if r.peek() != '"' {
		return false
	}
	for i := r.next + 1; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			r.next = i + 1
			return true
		case c == '\\':
			if i++; i == len(r.data) || !strings.ContainsRune(`"\/bfnrt`, rune(r.data[i])) {
				return false
			}
		case c < ' ':
			return false
		}
	}
	return false
}

func (r *reader) word(w string) bool {
	if !bytes.HasPrefix(r.data[r.next:], []byte(w)) {
		return false
	}
	r.next += len(w)
	return true
}

func (r *reader) integer() bool {
	if r.peek() == '-' {
		r.next++
	}
	start := r.next
	for '0' <= r.peek() && r.peek() <= '9' {
		r.next++
	}
	n := r.next - start
	return n == 1 || n > 1 && r.data[start] != '0'
}
