package email

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/plugins"
	"agenthost/plugins/email/emailtest"
	"agenthost/plugins/plugintest"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-smtp"
)

// written is a mail of a person, with a file where there is one.
func written(id string, w plugintest.Written) string {
	header := "From: Ana <ana@people.test>\nTo: bot@shop.test\nMessage-Id: <" + id + "@people.test>\nReferences: <root@people.test>\nMIME-Version: 1.0\n"
	if w.File == nil {
		return header + "Content-Type: text/plain; charset=utf-8\n\n" + w.Text + "\n"
	}
	return fmt.Sprintf("%sContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=utf-8\n\n%s\n--b\nContent-Type: %s\nContent-Disposition: attachment; filename=%s\nContent-Transfer-Encoding: base64\n\n%s\n--b--\n",
		header, w.Text, w.File.MIME, w.File.Name, base64.StdEncoding.EncodeToString(w.File.Data))
}

// read is a mail as a person sees it.
func read(t testing.TB, source []byte) (sent plugintest.Sent) {
	r, err := mail.CreateReader(bytes.NewReader(source))
	if err != nil {
		t.Errorf("%v in %s", err, source)
		return sent
	}
	for {
		part, err := r.NextPart()
		if err != nil {
			return sent
		}
		body, _ := io.ReadAll(part.Body)
		switch h := part.Header.(type) {
		case *mail.InlineHeader:
			if kind, _, _ := h.ContentType(); kind == "text/plain" {
				sent.Text = strings.TrimSpace(string(body))
			}
		case *mail.AttachmentHeader:
			sent.Name, _ = h.Filename()
			sent.File = body
		}
	}
}

// readAll shows a mail once that came twice, as mail programs do: by its Message-Id.
func readAll(t testing.TB, mails [][]byte) (sent []plugintest.Sent) {
	known := map[string]bool{}
	for _, source := range mails {
		_, id, _ := strings.Cut(string(source), "\nMessage-Id: ")
		id, _, _ = strings.Cut(id, "\r")
		if !known[id] {
			sent = append(sent, read(t, source))
		}
		known[id] = true
	}
	return sent
}

func TestSuite(t *testing.T) {
	t.Parallel()
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
		p := emailtest.New(t)
		var count atomic.Int64
		var last string
		return plugintest.Platform{
			Channel: func() plugins.Channel { return channel(t, account(p)) },
			Write: func(w plugintest.Written) {
				last = written(fmt.Sprintf("m%d", count.Add(1)), w)
				p.Arrive(last)
			},
			Sent: func(plugintest.Chat) (sent []plugintest.Sent) {
				return readAll(t, p.Mails())
			},
			Repeat:     func() { p.Arrive(last) },
			Keeps:      true,
			Refuse:     func() { p.RefuseNext(&smtp.SMTPError{Code: 550, Message: "no such user"}) },
			Fail:       func() { p.RefuseNext(&smtp.SMTPError{Code: 451, Message: "later"}) },
			Disconnect: p.Cut,
			Persons:    true,
		}
	}})
}
