package email

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agenthost/plugins"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // all charsets that mails come in
	"github.com/emersion/go-message/mail"
)

const (
	mostText   = 256 << 10 // bytes of a text that are read
	mostParts  = 100
	mostNested = 10
	mostFiles  = 20
	longestID  = 200
)

// An incoming is a mail that was read.
type incoming struct {
	received  plugins.Received
	origin    origin
	automatic string // why no agent gets it, as is meant; empty: one does
	refused   error  // why no agent gets it, though a person may have written it
	arrived   time.Time
}

// parse reads a mail once, from its beginning. What cannot be read of it is left out.
func (c *Channel) parse(ctx context.Context, source io.Reader, maxFile int64) *incoming {
	check := c.newCheck(ctx)
	body := io.TeeReader(source, check)
	m := c.parts(body, maxFile)
	_, _ = io.Copy(check, source)
	dkim, spf := check.result(m.header, m.received.From)
	m.received.Meta["dkim"], m.received.Meta["spf"] = dkim, spf
	return &m.incoming
}

// A reading is a mail while it is read.
type reading struct {
	incoming
	header  mail.Header
	maxFile int64
	budget  int64 // for all its files
	parts   int
	unread  bool // whether a part of it could not be read
	text    string
	html    string
}

func (c *Channel) parts(source io.Reader, maxFile int64) *reading {
	r := &reading{maxFile: maxFile, budget: 2 * maxFile}
	r.received.Meta = map[string]any{}
	entity, err := message.Read(source)
	if entity == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		r.refused = errors.New("it is not a mail: " + errorText(err))
		return r
	}
	r.header = mail.Header{Header: entity.Header}
	noSender := r.address()
	if r.automatic = c.isAutomatic(r); r.automatic == "" {
		r.refused = noSender
	}
	if r.automatic != "" || r.refused != nil {
		return r
	}
	r.walk(entity, 0)
	text := r.text
	if strings.TrimSpace(text) == "" {
		text = fromHTML(r.html)
	}
	r.received.Text = r.said(text)
	if len(r.replied()) == 0 && r.origin.subject != "" { // as bus.Inbound.Said reads it
		r.received.Text = strings.TrimSpace("Subject: " + r.origin.subject + "\n\n" + r.received.Text)
	}
	if r.unread {
		r.received.Text = strings.TrimSpace(r.received.Text + "\n\n(A part of this mail could not be read.)")
	}
	if r.received.Text == "" && len(r.received.Files) == 0 {
		r.received.Text = "(an empty mail)"
	}
	return r
}

func errorText(err error) string {
	if err == nil {
		return "no header"
	}
	return err.Error()
}

// sender reads who has sent the mail: one address, to which an answer goes.
func (r *reading) sender() error {
	from, err := r.header.AddressList("From")
	switch n := r.header.FieldsByKey("From").Len(); {
	case n > 1: // a signature may be for another than the first
		return fmt.Errorf("it has %d headers From; a mail has one", n)
	case err != nil:
		return fmt.Errorf("the header From has no address that can be answered: %w", err)
	case len(from) > 1:
		return fmt.Errorf("the header From names %d addresses; an agent answers one: write from it alone", len(from))
	case len(from) == 0 || from[0].Address == "":
		return errors.New("the header From has no address that can be answered")
	}
	r.received.From, r.received.Name = strings.ToLower(from[0].Address), oneLine(from[0].Name)
	return nil
}

// address reads who has sent the mail, and where it belongs. The error says why it cannot be
// answered.
func (r *reading) address() error {
	h, noSender := r.header, r.sender()
	subject, err := h.Subject()
	if err != nil {
		subject = h.Get("Subject")
	}
	r.origin.subject, r.origin.from = oneLine(subject), r.received.From
	if list, err := h.AddressList("Reply-To"); err == nil && len(list) == 1 {
		r.origin.replyTo = replyTo(r.received.From, strings.ToLower(list[0].Address))
	}
	r.received.Meta["subject"] = r.origin.subject
	if ids, err := h.MsgIDList("Message-Id"); err == nil && len(ids) == 1 && isID(ids[0]) {
		r.received.ID = ids[0]
	}
	if at, err := h.Date(); err == nil {
		r.received.SentAt = at
	}
	if ids := r.replied(); len(ids) > 0 {
		r.received.Thread, r.received.ReplyTo = ids[0], ids[len(ids)-1]
	} else {
		r.received.Thread = r.received.ID
	}
	return noSender
}

// replied are the mails before this one: the first of the thread, and the one that
// is answered.
func (r *reading) replied() []string {
	var ids []string
	for _, key := range []string{"References", "In-Reply-To"} {
		list, err := r.header.MsgIDList(key)
		if err != nil {
			continue
		}
		for _, id := range list {
			if isID(id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// replyTo is an address for answers, where it is of the sender's own domain. An
// address elsewhere would have agents write to people who did not ask.
func replyTo(from, wanted string) string {
	if wanted == from || domainOf(wanted) != domainOf(from) {
		return ""
	}
	return wanted
}

// isID reports whether a message id can stand in a header again.
func isID(id string) bool {
	return id != "" && len(id) <= longestID && !strings.ContainsFunc(id, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '<' || r == '>'
	})
}

// walk reads the parts of a mail in order, each while it comes.
func (r *reading) walk(e *message.Entity, depth int) {
	r.parts++
	if r.parts > mostParts || depth > mostNested {
		r.unread = true
		return
	}
	parts := partsOf(e)
	if parts == nil {
		r.leaf(e)
		return
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			r.unread = r.unread || !isEnd(err)
			return
		}
		if e, _ := message.New(message.Header{Header: part.Header}, part); e != nil { // also of an unknown charset or encoding
			r.walk(e, depth+1)
		}
	}
}

// leaf reads a part that is a text or a file.
func (r *reading) leaf(e *message.Entity) {
	kind, parameters, err := e.Header.ContentType()
	if err != nil || !strings.Contains(kind, "/") {
		kind, parameters = unreadableKind(e.Header.Get("Content-Type")), nil
	}
	disposition, more, _ := e.Header.ContentDisposition()
	name := more["filename"]
	if name == "" {
		name = parameters["name"]
	}
	isText := kind == "text/plain" || kind == "text/html"
	if isText && name == "" && disposition != "attachment" {
		text, _ := io.ReadAll(io.LimitReader(e.Body, mostText))
		said := strings.ToValidUTF8(string(text), "\uFFFD")
		if isUTF7(parameters["charset"]) {
			said = fromUTF7(said)
		}
		if kind == "text/plain" {
			r.text = joined(r.text, said)
		} else {
			r.html = joined(r.html, said)
		}
		return
	}
	r.file(e.Body, kind, fileName(name, kind))
}

// unreadableKind is what a wrong Content-Type says all the same. One that says nothing counts as
// if it were not there (RFC 2045, 5.2).
func unreadableKind(value string) string {
	kind, _, _ := strings.Cut(value, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if _, sub, ok := strings.Cut(kind, "/"); !ok || sub == "" || strings.ContainsAny(kind, " \t") {
		return "text/plain"
	}
	return kind
}

// joined is at most mostText long.
func joined(a, b string) string {
	if a != "" {
		a += "\n"
	}
	text := a + b
	return strings.ToValidUTF8(text[:min(len(text), mostText)], "") // not within a rune
}

// file reads an attachment. One that is too large is counted and forgotten.
func (r *reading) file(body io.Reader, kind, name string) {
	if len(r.received.Files) == mostFiles {
		return
	}
	most := min(r.maxFile, r.budget)
	data, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil && len(data) == 0 {
		return
	}
	f := plugins.File{Name: name, MIME: kind, Kind: kindOf(kind), Data: data, Size: int64(len(data))}
	if f.Size > most {
		rest, _ := io.Copy(io.Discard, body)
		f.Data, f.Size = nil, f.Size+rest
	}
	r.budget -= int64(len(f.Data))
	r.received.Files = append(r.received.Files, f)
}

// fileName is a name without a path.
func fileName(name, kind string) string {
	name = oneLine(path.Base(strings.ReplaceAll(name, "\\", "/")))
	if name == "" || name == "." || name == "/" {
		name = "file"
		if endings, err := mime.ExtensionsByType(kind); err == nil && len(endings) > 0 {
			name += endings[0]
		}
	}
	return name
}

func kindOf(mimeType string) string {
	switch kind, _, _ := strings.Cut(mimeType, "/"); kind {
	case "image", "audio", "video":
		return kind
	}
	return "file"
}

// oneLine makes a text fit for a header.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
