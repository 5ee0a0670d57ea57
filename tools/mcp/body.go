package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

var errCut = errors.New("the answer is cut")

// filter lets no message of a response be longer than a message may be, and leaves
// complaints out. id is that of the request, nil when it wants no answer or the
// response is a stream of the server's own. junk gets what is left out.
func filter(resp *http.Response, id json.RawMessage, junk func([]byte)) {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = body{newLineFilter(resp.Body, "data:", junk), resp.Body}
		return
	}
	resp.Body = body{&wholeMessage{src: resp.Body, size: resp.ContentLength, id: id, junk: junk}, resp.Body}
}

// complete reads an answer that is one message to its end. One that was cut is the
// failure of its request alone; to the library it would be the end of the session,
// and of the calls of others.
func complete(resp *http.Response) error {
	b, _ := resp.Body.(body)
	m, ok := b.Reader.(*wholeMessage)
	if !ok || len(m.id) == 0 || resp.StatusCode != http.StatusOK {
		return nil
	}
	err := m.fetch()
	if err == nil {
		err = m.makeReadable()
	}
	if err != nil {
		_ = resp.Body.Close()
	}
	return err
}

// makeReadable puts an error in place of an answer that cannot be read. One that is cut is an
// error.
func (m *wholeMessage) makeReadable() error {
	why := unreadable(m.text)
	if why == nil {
		return nil
	}
	if !isObject(m.text) || isCut(why) {
		return errCut
	}
	m.text = unreadableAnswer(m.id, why)
	m.rest = bytes.NewReader(m.text)
	return nil
}

// A body is what is read of a response in the place of its own.
type body struct {
	io.Reader
	io.Closer
}

// A wholeMessage is a body with one message. One that is too long is replaced by
// an error that answers the request, so that nothing of it can be passed on
// before all of it is there. So is a complaint: it can be of this request alone.
type wholeMessage struct {
	src  io.Reader
	size int64 // as announced; -1: unknown
	id   json.RawMessage
	junk func([]byte)
	text []byte    // once src was read
	rest io.Reader // of text; nil until src was read
}

func (m *wholeMessage) Read(p []byte) (int, error) {
	if m.rest == nil {
		if err := m.fetch(); err != nil {
			return 0, err
		}
	}
	return m.rest.Read(p)
}

func (m *wholeMessage) fetch() error {
	var text bytes.Buffer
	n, err := m.size, error(nil)
	if n <= longestMessage {
		text.Grow(int(max(n, 0)) + bytes.MinRead)
		n, err = text.ReadFrom(io.LimitReader(m.src, longestMessage+1))
	}
	switch {
	case err != nil:
		return err
	case n <= longestMessage:
		m.text, err = m.judged(text.Bytes())
	case len(m.id) == 0:
		return errLong
	default:
		m.text = longAnswer(m.id)
	}
	m.rest = bytes.NewReader(m.text)
	return err
}

// judged is a message without complaints; of nothing else remains what it says of the
// request.
func (m *wholeMessage) judged(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	if len(m.id) == 0 || len(text) == 0 {
		return text, nil
	}
	if left := withoutComplaints(text, m.junk); len(left) > 0 {
		return left, nil
	}
	return refusedAs(text, m.id)
}
