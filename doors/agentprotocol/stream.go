package agentprotocol

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// The types of chunks.
const (
	chunkResponse = "response"
	chunkStatus   = "status"
	chunkQuery    = "query"
)

// ack is the status that says a prompt was taken, and is still worked on.
const ack = "ack"

// The codes of errors that the protocol has and this door uses.
const (
	codeBadRequest = 400
	codeForbidden  = 403
	codeConflict   = 409
	codeTooMany    = 429
	codeInternal   = 500
)

const (
	mostErrorText = 200 // characters of an error in a header
	// escaped is how many bytes of JSON a byte of text may need.
	escaped = 6
	// frame is what is around the text of a chunk.
	frame = 256
)

// A stream is the answer to one prompt. It is safe for concurrent use.
type stream struct {
	nc    *nats.Conn
	reply string

	mu    sync.Mutex
	ended bool
}

// A chunk is a message of a stream but for its last.
type chunk struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

// response is the data of a chunk that has files.
type response struct {
	Text        string     `json:"text"`
	Attachments []encoding `json:"attachments"`
}

type encoding struct {
	Filename string `json:"filename"`
	Content  string `json:"content"`
}

// failure is the body of an error.
type failure struct {
	Error      string `json:"error"` // in snake case
	Message    string `json:"message"`
	RetryAfter int    `json:"retry_after_s,omitempty"`
}

func (s *stream) send(msg *nats.Msg, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = last
	msg.Subject = s.reply
	_ = s.nc.PublishMsg(msg) // it only fails where nothing can be told any more
}

func (s *stream) chunk(kind string, data any) {
	body, err := json.Marshal(chunk{kind, data})
	if err == nil {
		s.send(&nats.Msg{Data: body}, false)
	}
}

func (s *stream) ack() { s.chunk(chunkStatus, ack) }

// text sends a text in as many chunks as it needs.
func (s *stream) text(text string) {
	limit := max(int(s.nc.MaxPayload())-frame, frame) / escaped
	for text != "" {
		piece := text[:cut(text, limit)]
		s.chunk(chunkResponse, piece)
		text = text[len(piece):]
	}
}

// cut is where a text of at most limit bytes ends, which is between two characters.
func cut(text string, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// file sends a file, and reports whether it fits into a message.
func (s *stream) file(name string, content []byte) bool {
	data := response{Attachments: []encoding{{name, base64.StdEncoding.EncodeToString(content)}}}
	body, err := json.Marshal(chunk{chunkResponse, data})
	if err != nil || len(body) > int(s.nc.MaxPayload()) {
		return false
	}
	s.send(&nats.Msg{Data: body}, false)
	return true
}

// end sends what ends the stream: a message without body and headers.
func (s *stream) end() { s.send(&nats.Msg{}, true) }

// fail sends an error, and ends the stream.
func (s *stream) fail(code int, f failure) {
	if body, err := json.Marshal(f); err == nil {
		s.send(&nats.Msg{Data: body, Header: nats.Header{
			micro.ErrorCodeHeader: {strconv.Itoa(code)}, micro.ErrorHeader: {headerText(f.Message)},
		}}, false)
	}
	s.end()
}

// headerText is a text as a header takes it: one line, and short.
func headerText(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " | ")
	if runes := []rune(text); len(runes) > mostErrorText {
		text = string(runes[:mostErrorText-1]) + "…"
	}
	return text
}
