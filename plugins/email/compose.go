package email

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	netmail "net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"agenthost/plugins"
	"agenthost/plugins/internal/markdown"

	"github.com/emersion/go-message/mail"
)

const longestSubject = 70

// messageID is the same for the same key.
func messageID(key, domain string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16]) + "@" + domain
}

// compose writes a mail: as text and as HTML, with a file where there is one.
func (c *Channel) compose(m plugins.Message, id string, to *netmail.Address, subject string) ([]byte, error) {
	h := c.header(m, id, to, subject)
	plain := cmp.Or(m.Plain, m.Text)
	if m.File != nil && m.File.Data == nil {
		plain = strings.TrimSpace(plain + "\n\n" + strings.TrimSpace(m.File.Name+" "+m.File.URL))
		m.Text = ""
	}
	page := ""
	if m.Text != "" {
		page = markdown.HTML.Render(m.Text)
	}
	var b bytes.Buffer
	if m.File == nil || m.File.Data == nil {
		w, err := mail.CreateInlineWriter(&b, h)
		if err != nil {
			return nil, err
		}
		if err := alternatives(w, plain, page); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	}
	w, err := mail.CreateWriter(&b, h)
	if err != nil {
		return nil, err
	}
	if plain != "" {
		texts, err := w.CreateInline()
		if err != nil {
			return nil, err
		}
		if err := alternatives(texts, plain, page); err != nil {
			return nil, err
		}
	}
	if err := attach(w, m.File); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}

func (c *Channel) header(m plugins.Message, id string, to *netmail.Address, subject string) mail.Header {
	var h mail.Header
	h.SetDate(time.Now())
	h.SetAddressList("From", []*mail.Address{{Name: oneLine(c.settings.Name), Address: c.settings.Address}})
	h.SetAddressList("To", []*mail.Address{{Address: to.Address}})
	h.SetMessageID(id)
	h.Set("Auto-Submitted", "auto-generated")
	if answered := cmp.Or(m.ReplyTo, m.Thread); isMailID(answered) {
		h.Set("Auto-Submitted", "auto-replied")
		h.SetMsgIDList("In-Reply-To", []string{answered})
		references := []string{answered}
		if isMailID(m.Thread) && m.Thread != answered {
			references = []string{m.Thread, answered}
		}
		h.SetMsgIDList("References", references)
	}
	h.SetSubject(c.subject(m, subject))
	return h
}

// isMailID reports whether an id is that of a mail, and not one that was made for a
// mail without any.
func isMailID(id string) bool { return isID(id) && strings.Contains(id, "@") }

// subject is that of the mail that is answered, else the first words.
func (c *Channel) subject(m plugins.Message, answered string) string {
	if answered = oneLine(answered); answered != "" {
		if len(answered) >= 3 && strings.EqualFold(answered[:3], "re:") {
			return answered
		}
		return "Re: " + answered
	}
	first, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(m.Plain, m.Text)), "\n")
	if first = oneLine(first); utf8.RuneCountInString(first) > longestSubject {
		first = string([]rune(first)[:longestSubject-1]) + "…"
	}
	if first == "" && m.File != nil {
		first = oneLine(m.File.Name)
	}
	return cmp.Or(first, "Message from "+cmp.Or(oneLine(c.settings.Name), c.settings.Address))
}

// alternatives writes a text, and the same as HTML for who shows it.
func alternatives(w *mail.InlineWriter, plain, page string) error {
	for _, part := range []struct{ kind, text string }{{"text/plain", plain}, {"text/html", page}} {
		if part.text == "" && part.kind == "text/html" {
			continue
		}
		var h mail.InlineHeader
		h.SetContentType(part.kind, map[string]string{"charset": "utf-8"})
		h.Set("Content-Transfer-Encoding", "quoted-printable")
		if err := writePart(func() (io.WriteCloser, error) { return w.CreatePart(h) }, []byte(part.text)); err != nil {
			return err
		}
	}
	return w.Close()
}

func attach(w *mail.Writer, f *plugins.File) error {
	var h mail.AttachmentHeader
	h.SetContentType(cmp.Or(f.MIME, "application/octet-stream"), nil)
	h.SetFilename(cmp.Or(oneLine(f.Name), "file"))
	h.Set("Content-Transfer-Encoding", "base64")
	return writePart(func() (io.WriteCloser, error) { return w.CreateAttachment(h) }, f.Data)
}

func writePart(create func() (io.WriteCloser, error), data []byte) error {
	w, err := create()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Close()
}
