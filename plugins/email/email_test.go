package email

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/email/emailtest"
	"agenthost/plugins/settings"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const hello = "From: Ana <Ana@People.test>\nTo: bot@shop.test\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nMessage-Id: <m1@people.test>\nDate: Mon, 2 Nov 2026 10:00:00 +0100\n\nhello\n-- \nAna\n"

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := settings.MailServer{Server: "mail.test:993", User: "bot"}
	noPEM := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(noPEM, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		account settings.Email
		want    string
	}{
		"no address": {settings.Email{IMAP: good, SMTP: good}, "address"},
		"no port":    {settings.Email{Address: bot, IMAP: settings.MailServer{Server: "mail.test", User: "bot"}, SMTP: good}, "imap: server"},
		"no user":    {settings.Email{Address: bot, IMAP: settings.MailServer{Server: "mail.test:993"}, SMTP: good}, "imap: user"},
		"no smtp":    {settings.Email{Address: bot, IMAP: good}, "smtp: server"},
		"tls":        {settings.Email{Address: bot, IMAP: good, SMTP: settings.MailServer{Server: "mail.test:25", TLS: "yes"}}, "starttls or off"},
		"no file":    {settings.Email{Address: bot, IMAP: good, SMTP: settings.MailServer{Server: "mail.test:25", CA: "/nowhere"}}, "smtp: ca"},
		"no PEM":     {settings.Email{Address: bot, IMAP: good, SMTP: settings.MailServer{Server: "mail.test:25", CA: noPEM}}, "no certificate"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tt.account); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	if as, err := channel(t, account(p)).Check(t.Context()); err != nil || as != bot {
		t.Errorf("got %q, %v", as, err)
	}
	for name, change := range map[string]func(*settings.Email){
		"imap": func(s *settings.Email) { s.IMAP.Password = "no" },
		"smtp": func(s *settings.Email) { s.SMTP.Password = "no" },
	} {
		account := account(p)
		change(&account)
		_, err := channel(t, account).Check(t.Context())
		if _, ok := errors.AsType[*plugins.LoginError](err); !ok {
			t.Errorf("%s: %v is no LoginError", name, err)
		}
	}
}

// certificate is one for 127.0.0.1, and the file by which it is trusted.
func certificate(t *testing.T) (*tls.Config, string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: s.TLS.Certificates}, file
}

func TestTLS(t *testing.T) {
	t.Parallel()
	config, ca := certificate(t)
	for mode, atOnce := range map[string]bool{"": true, tlsOn: true, startTLS: false} {
		t.Run("mode "+mode, func(t *testing.T) {
			p := emailtest.NewTLS(t, config, atOnce)
			account := account(p)
			account.IMAP.TLS, account.SMTP.TLS = mode, mode
			if _, err := channel(t, account).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("an unsigned certificate: %v", err)
			}
			account.IMAP.CA = ca
			if _, err := channel(t, account).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("an unsigned certificate, of SMTP: %v", err)
			}
			account.SMTP.CA = ca
			c, in := channel(t, account), &memory{}
			if as, err := c.Check(t.Context()); err != nil || as != bot {
				t.Fatalf("got %q, %v", as, err)
			}
			serve(t, c, in)
			p.Arrive(hello)
			m := in.next(t, 1)
			if _, err := c.Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{To: m.From}, Text: "x"}); err != nil || len(p.Mails()) != 1 {
				t.Errorf("%d mails, %v", len(p.Mails()), err)
			}
		})
	}
}

func TestReceived(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	p.Arrive(strings.Replace(hello, "m1@", "before@", 1))
	in := &memory{}
	serve(t, channel(t, account(p)), in)
	p.Arrive(hello)
	m := in.next(t, 1)
	want := plugins.Received{
		ID: "m1@people.test", From: "ana@people.test", Name: "Ana", Thread: "m1@people.test", Text: "Subject: Grüße\n\nhello",
		Meta: map[string]any{"subject": "Grüße", "dkim": "none", "spf": "none"}, SentAt: m.SentAt,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	p.Arrive("From: ana@people.test\nSubject: Re: Hi\nMessage-Id: <m3@people.test>\nReferences: <m1@people.test> <m2@shop.test>\nIn-Reply-To: <m2@shop.test>\n\nyes\n\nOn Monday Shop wrote:\n> hello\n> back\n")
	m = in.next(t, 2)
	if m.Thread != "m1@people.test" || m.ReplyTo != "m2@shop.test" || m.Text != "yes" {
		t.Errorf("got %+v", m)
	}
}

func TestReceivedParts(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 3000)
	tests := map[string]struct {
		mail  string
		text  string
		files []plugins.File
	}{
		"HTML alone": {
			"Content-Type: text/html; charset=iso-8859-1\n\n<html><head><title>no</title><style>p{}</style></head><body><p>gr\xfc\xdfe <b>you</b></p><ul><li>one<li>two</ul><a href=\"https://x.test/\">here</a><blockquote>old</blockquote></body></html>",
			"grüße you\n\n• one\n• two\n\nhere (https://x.test/)", nil,
		},
		"alternative": {
			"Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nplain\n--b\nContent-Type: text/html\n\n<p>html</p>\n--b--\n",
			"plain", nil,
		},
		"files": {
			"Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n--b\nContent-Type: image/png\nContent-Disposition: inline; filename=\"../../a.png\"\nContent-Transfer-Encoding: base64\n\nAQID\n--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=b.txt\n\n" + large + "\n--b--\n",
			"text",
			[]plugins.File{
				{Name: "a.png", MIME: "image/png", Kind: "image", Data: []byte{1, 2, 3}, Size: 3},
				{Name: "b.txt", MIME: "text/plain", Kind: "file", Size: 3000},
			},
		},
		"texts that fill what is read": {
			"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + strings.Repeat("a", 100) + "\n--b\n\n" + strings.Repeat("b", mostText-100) + "\n--b\n\nc\n--b\n\nd\n--b--\n",
			strings.Repeat("a", 100) + "\n" + strings.Repeat("b", mostText-101), nil,
		},
		"unknown charset": {"Content-Type: text/plain; charset=nonsense\n\nhello\n", "hello", nil},
		"forwarded":       {"\n> all\n> quoted\n", "> all\n> quoted", nil},
		"empty":           {"\n\n", "(an empty mail)", nil},
		"cut off":         {"Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext", "text", nil},
		"endless": {
			nested(50), "(A part of this mail could not be read.)", nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := channel(t, account(emailtest.New(t)))
			source := "From: ana@people.test\nMessage-Id: <m@people.test>\nIn-Reply-To: <x@y>\n" + tt.mail
			m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
			if m.automatic != "" || m.received.Text != tt.text {
				t.Errorf("got %q (%s), want %q", m.received.Text, m.automatic, tt.text)
			}
			if diff := cmp.Diff(tt.files, m.received.Files, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is forwarded with a word before it is not the history of a thread.
func TestForwardedMailIsWhole(t *testing.T) {
	t.Parallel()
	outlook := "please look at this\n\n-----Original Message-----\nFrom: Bo\n\nthe invoice"
	apple := "please look at this\n\nBegin forwarded message:\n\n> From: Bo\n>\n> the invoice"
	reply := "In-Reply-To: <x@y.test>\n"
	tests := map[string]struct{ header, text, want string }{
		"by Outlook":        {"Subject: FW: invoice\n", outlook, "Subject: FW: invoice\n\n" + outlook},
		"by Apple":          {"Subject: Fwd: invoice\n", apple, "Subject: Fwd: invoice\n\n" + apple},
		"with references":   {"Subject: WG: Rechnung\n" + reply, outlook, outlook},
		"a new mail":        {"Subject: invoice\n", outlook, "Subject: invoice\n\n" + outlook},
		"an answer":         {"Subject: RE: invoice\n" + reply, outlook, "please look at this"},
		"an answer to one":  {"Subject: Re: Fwd: invoice\n" + reply, apple, "please look at this"},
		"its own signature": {"Subject: hi\n", "hello\n\n-- \nAna", "Subject: hi\n\nhello"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := channel(t, account(emailtest.New(t)))
			source := "From: ana@people.test\nMessage-Id: <m@people.test>\n" + tt.header + "\n" + tt.text
			m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
			if diff := cmp.Diff(tt.want, m.received.Text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// nested is a mail within parts within parts.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%dx\n\n--b%dx\n", i, i)
	}
	return b.String() + "\ntext\n"
}

// A loop of two programs that answer each other never ends.
func TestAutomaticMailIsNotAnswered(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	serve(t, channel(t, account(p)), in)
	for i, header := range []string{
		"Auto-Submitted: auto-replied (vacation)", "Precedence: Bulk", "Precedence: list", "Precedence: junk", "List-Id: <a.b>",
		"Return-Path: <>", "From: BOT@shop.test", "From: MAILER-DAEMON@people.test", "From: a@b.test, c@d.test", "X-Loop: x", "",
	} {
		if !strings.HasPrefix(header, "From:") && header != "" {
			header += "\nFrom: ana@people.test"
		}
		p.Arrive(fmt.Sprintf("%s\nMessage-Id: <auto%d@people.test>\n\nhello", header, i))
	}
	p.Arrive("Auto-Submitted: no\nReturn-Path: <ana@people.test>\n" + hello)
	if m := in.next(t, 1); m.ID != "m1@people.test" {
		t.Errorf("got %+v", m)
	}
	waittest.Until(t, "all are noted", func() bool {
		note, _ := in.Note(t.Context(), cursor)
		at, ok := parsePosition(note)
		return ok && at.last == 12
	})
	if n := len(in.messages()); n != 1 {
		t.Errorf("%d mails were taken: %+v", n, in.messages())
	}
}

// A mail that cannot be answered is said to the operator: its sender waits.
func TestMailWithoutOneSenderIsRefused(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	serve(t, channel(t, account(p)), in)
	for _, m := range []string{
		"From: a@b.test, c@d.test\nMessage-Id: <two@people.test>\n\nhello",
		"From: not an address\nMessage-Id: <odd@people.test>\n\nhello",
		"Message-Id: <none@people.test>\n\nhello",
		"From: a@b.test, c@d.test\nMessage-Id: <list@people.test>\nPrecedence: bulk\n\nhello",
		"From: mailer-daemon@b.test\nMessage-Id: <daemon@people.test>\n\nhello",
		hello,
	} {
		p.Arrive(m)
	}
	in.next(t, 1)
	in.mu.Lock()
	defer in.mu.Unlock()
	want := []string{
		"two@people.test: the header From names 2 addresses; an agent answers one: write from it alone",
		"odd@people.test: the header From has no address that can be answered: mail: ",
		"none@people.test: the header From has no address that can be answered",
	}
	if len(in.odd) != len(want) {
		t.Fatalf("refused %q", in.odd)
	}
	for i, odd := range in.odd {
		if !strings.HasPrefix(odd, want[i]) {
			t.Errorf("refused %q, want %q", odd, want[i])
		}
	}
}

func TestReadsOnWhereItStopped(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	stop := serve(t, channel(t, account(p)), in)
	stop()
	p.Arrive(hello)
	serve(t, channel(t, account(p)), in)
	in.next(t, 1)
	p.Cut()
	p.Arrive(strings.Replace(hello, "m1@", "m2@", 1))
	if m := in.next(t, 2); m.ID != "m2@people.test" {
		t.Errorf("got %+v", m)
	}
}

// A lost connection is seen at once also where the server has no IDLE.
func TestLostConnectionWithoutIdle(t *testing.T) {
	t.Parallel()
	p := emailtest.NewWithoutIdle(t)
	in := &memory{}
	serve(t, channel(t, account(p)), in)
	p.Cut()
	p.Arrive(hello)
	in.next(t, 1)
}

// A mail is not seen before NATS has it.
func TestNATSIsAway(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	serve(t, channel(t, account(p)), in)
	in.mu.Lock()
	in.away = true
	in.mu.Unlock()
	known := in.connected()
	p.Arrive(hello)
	waittest.Until(t, "it tries again", func() bool { return in.connected() > known+1 })
	in.mu.Lock()
	in.away = false
	in.mu.Unlock()
	in.next(t, 1)
}

func TestAnotherUIDValidity(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	p.Arrive(hello)
	in := &memory{notes: map[string][]byte{cursor: []byte("77 900 1000000000")}}
	serve(t, channel(t, account(p)), in)
	in.next(t, 1)
	p.Arrive(strings.Replace(hello, "m1@", "m2@", 1))
	if m := in.next(t, 2); m.ID != "m2@people.test" {
		t.Errorf("got %+v", m)
	}
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	c := channel(t, account(p))
	serve(t, c, in)
	p.Arrive(strings.Replace(hello, "Subject:", "Reply-To: help@people.test\nSubject:", 1))
	m := in.next(t, 1)
	message := plugins.Message{
		Key: "k1", Place: plugins.Place{To: m.From, Thread: m.Thread}, Text: "**hi**\n\ngröße", Plain: "hi\n\ngröße", ReplyTo: m.ID,
	}
	for name, c := range map[string]*Channel{"known": c, "looked up": channel(t, account(p))} {
		id, err := c.Deliver(t.Context(), message)
		if err != nil {
			t.Fatal(err)
		}
		sent := p.Mails()[len(p.Mails())-1]
		r, err := mail.CreateReader(bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		subject, _ := r.Header.Subject()
		got, _ := r.Header.MessageID()
		if subject != "Re: Grüße" || got != id || id != messageID("k1", "shop.test") {
			t.Errorf("%s: subject %q, id %q and %q", name, subject, got, id)
		}
		for key, want := range map[string]string{
			"In-Reply-To": "<m1@people.test>", "References": "<m1@people.test>", "To": "<help@people.test>",
			"From": `"Shop" <bot@shop.test>`, "Auto-Submitted": "auto-replied",
		} {
			if got := r.Header.Get(key); got != want {
				t.Errorf("%s: %s: %q, want %q", name, key, got, want)
			}
		}
		if got, want := bodies(t, r), []string{"hi\n\ngröße", "<p><strong>hi</strong></p>\n<p>größe</p>"}; !cmp.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Anyone may send a mail under the id of another's: no answer says what is in it.
func TestDeliverToOneOfTwoMailsWithOneID(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	c := channel(t, account(p))
	serve(t, c, in)
	p.Arrive("From: Eve@Evil.test\nSubject: longer id\nMessage-Id: <xm1@people.test>\n\nhello")
	p.Arrive("From: ana@people.test\nSubject: longer id\nMessage-Id: <xm1@people.test>\n\nhello")
	p.Arrive(strings.Replace(hello, "Subject:", "Reply-To: help@people.test\nSubject:", 1))
	p.Arrive("From: Eve@Evil.test\nReply-To: eve2@evil.test\nSubject: of Eve\nMessage-Id: <m1@people.test>\n\nhello")
	p.Arrive("From: ana@people.test\nSubject: again\nMessage-Id: <m1@people.test>\n\nhello") // is no message
	p.Arrive("From: bo@people.test\nSubject: of Bo\nMessage-Id: <m2@people.test>\n\nhello")
	in.next(t, 5)
	for name, c := range map[string]*Channel{"known": c, "looked up": channel(t, account(p))} {
		for _, tt := range []struct{ person, to, subject string }{
			{"ana@people.test", "<help@people.test>", "Re: Grüße"},
			{"eve@evil.test", "<eve2@evil.test>", "Re: of Eve"},
			{"bo@people.test", "<bo@people.test>", "hi"},
		} {
			m := plugins.Message{Key: "k", Place: plugins.Place{To: tt.person, Thread: "m1@people.test"}, Text: "hi", ReplyTo: "m1@people.test"}
			if _, err := c.Deliver(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			r, err := mail.CreateReader(bytes.NewReader(p.Mails()[len(p.Mails())-1]))
			if err != nil {
				t.Fatal(err)
			}
			subject, _ := r.Header.Subject()
			if to := r.Header.Get("To"); to != tt.to || subject != tt.subject {
				t.Errorf("%s, to %s: to %s, subject %q, want %q", name, tt.person, to, subject, tt.subject)
			}
		}
	}
}

// A file of a reply is a mail of its own, and goes where its text has gone.
func TestDeliverALaterPart(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	c := channel(t, account(p))
	serve(t, c, in)
	p.Arrive(strings.Replace(hello, "Subject:", "Reply-To: help@people.test\nReferences: <m0@people.test>\nSubject:", 1))
	m := in.next(t, 1)
	reply := &bus.Outbound{ID: "k", To: m.From, Thread: m.Thread, InReplyTo: m.ID, Text: "see"}
	part := plugins.Message{
		Key: "k/2", Place: plugins.Place{To: m.From, Thread: m.Thread}, Part: 2, Parts: 2, Reply: reply,
		File: &plugins.File{Name: "a.txt", MIME: "text/plain", Data: []byte("x")},
	}
	if _, err := c.Deliver(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	r, err := mail.CreateReader(bytes.NewReader(p.Mails()[0]))
	if err != nil {
		t.Fatal(err)
	}
	if subject, _ := r.Header.Subject(); subject != "Re: Grüße" {
		t.Errorf("subject %q", subject)
	}
	for key, want := range map[string]string{
		"To": "<help@people.test>", "In-Reply-To": "<m1@people.test>", "References": "<m0@people.test> <m1@people.test>", "Auto-Submitted": "auto-replied",
	} {
		if got := r.Header.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func bodies(t *testing.T, r *mail.Reader) []string {
	t.Helper()
	var texts []string
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(part.Body)
		texts = append(texts, strings.ReplaceAll(string(body), "\r\n", "\n"))
	}
}

func TestDeliverAFile(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	c := channel(t, account(p))
	place := plugins.Place{To: "ana@people.test"}
	deliver := func(f *plugins.File) string {
		t.Helper()
		if _, err := c.Deliver(t.Context(), plugins.Message{Key: "k", Place: place, File: f}); err != nil {
			t.Fatal(err)
		}
		return string(p.Mails()[len(p.Mails())-1])
	}
	if got := deliver(&plugins.File{Name: "größe\r\nX: y.txt", MIME: "text/plain", Data: []byte("content")}); !strings.Contains(got, "Y29udGVudA==") || strings.Contains(got, "\nX:") {
		t.Error(got)
	}
	if got := deliver(&plugins.File{Name: "a.txt", URL: "https://x.test/a.txt"}); !strings.Contains(got, "a.txt https://x.test/a.txt") {
		t.Error(got)
	}
}

// What people and agents say cannot become a header.
func TestHeadersCannotBeInjected(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	account := account(p)
	account.Name = "Shop\r\nBcc: all@people.test"
	c := channel(t, account)
	c.known.add("m\r\nBcc: all@people.test", origin{from: "ana@people.test", subject: "x\r\nBcc: all@people.test"})
	c.known.add("m1@people.test", origin{from: "ana@people.test", subject: "x\r\nBcc: all@people.test"})
	for _, m := range []plugins.Message{
		{Text: "x\r\nBcc: all@people.test"},
		{Text: "x", ReplyTo: "m1@people.test", Place: plugins.Place{Thread: "a\r\nBcc: all@people.test"}},
		{Text: "x", ReplyTo: "m\r\nBcc: all@people.test"},
	} {
		m.Key, m.To = "k", "ana@people.test"
		if _, err := c.Deliver(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		sent := p.Mails()[len(p.Mails())-1]
		r, err := mail.CreateReader(bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Has("Bcc") {
			t.Errorf("%s", sent)
		}
	}
}

func TestDeliverIsRefused(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	tests := map[string]struct {
		to        string
		refuse    *smtp.SMTPError
		permanent bool
	}{
		"later":         {"ana@people.test", &smtp.SMTPError{Code: 451, Message: "later"}, false},
		"never":         {"ana@people.test", &smtp.SMTPError{Code: 550, Message: "no such user"}, true},
		"no address":    {"ana", nil, true},
		"two addresses": {"a@b.test, c@d.test", nil, true},
		"injected":      {"a@b.test>\r\nRCPT TO:<c@d.test", nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p.RefuseNext(tt.refuse)
			_, err := channel(t, account(p)).Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{To: tt.to}, Text: "x"})
			if err == nil {
				t.Fatal("delivered")
			}
			if _, ok := errors.AsType[*plugins.PermanentError](err); ok != tt.permanent {
				t.Errorf("%v: permanent %v", err, ok)
			}
			if _, ok := errors.AsType[*plugins.AfterLoginError](err); ok == tt.permanent {
				t.Errorf("%v: after the login %v", err, ok)
			}
		})
	}
	account := account(p)
	account.SMTP.Password = "no"
	_, err := channel(t, account).Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{To: "ana@people.test"}, Text: "x"})
	if _, ok := errors.AsType[*plugins.LoginError](err); !ok {
		t.Errorf("%v is no LoginError", err)
	}
	account.SMTP.Server = "127.0.0.1:1"
	_, err = channel(t, account).Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{To: "ana@people.test"}, Text: "x"})
	if _, ok := errors.AsType[*plugins.AfterLoginError](err); ok || err == nil {
		t.Errorf("%v: after the login, and there was none", err)
	}
}

func TestAuthenticationResults(t *testing.T) {
	t.Parallel()
	own := "Authentication-Results: mx.shop.test; spf=pass smtp.mailfrom=people.test; dkim=pass header.d=people.test\n"
	tests := map[string]struct{ header, dkim, spf string }{
		"own server":         {own, "pass", "pass"},
		"of another":         {strings.Replace(own, "mx.shop.test", "mx.evil.test", 1), "none", "none"},
		"signed by another":  {strings.Replace(own, "header.d=people.test", "header.d=evil.test", 1), "fail", "pass"},
		"failed":             {strings.Replace(own, "dkim=pass", "dkim=fail", 1), "fail", "pass"},
		"nothing":            {"", "none", "none"},
		"not the first":      {"Authentication-Results: mx.evil.test; none\n" + own, "none", "none"},
		"a wrong signature":  {"DKIM-Signature: v=1; a=rsa-sha256; d=people.test; s=x; h=from; bh=eA==; b=eA==\n", "fail", "none"},
		"unreadable":         {"Authentication-Results: ;;;\n", "none", "none"},
		"none by own server": {"Authentication-Results: mx.shop.test; dkim=none; spf=softfail\n", "none", "softfail"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := channel(t, account(emailtest.New(t)))
			m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(tt.header+hello, "\n", "\r\n")), 1000)
			if m.received.Meta["dkim"] != tt.dkim || m.received.Meta["spf"] != tt.spf {
				t.Errorf("got %v", m.received.Meta)
			}
		})
	}
}

// The domain above a server counts only where one owner has it: anybody may have evil.co.uk.
func TestAuthenticationResultsBelowAPublicDomain(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]map[string]string{
		"shop.co.uk":      {"shop.co.uk": pass, "mx.shop.co.uk": pass, "evil.co.uk": none, "mx.evil.co.uk": none},
		"imap.shop.co.uk": {"mx.shop.co.uk": pass, "evil.co.uk": none},
		"imap.host.test":  {"mx.host.test": pass, "mx.shop.test": pass, "test": none},
	} {
		for server, dkim := range want {
			a := account(emailtest.New(t))
			a.IMAP.Server = host + ":993"
			c := channel(t, a)
			source := "Authentication-Results: " + server + "; dkim=pass header.d=people.test\n" + hello
			m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
			if got := m.received.Meta["dkim"]; got != dkim {
				t.Errorf("IMAP at %s: what %s says of DKIM counts as %v, want %s", host, server, got, dkim)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(hello))
	f.Add([]byte("Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext"))
	c, err := New(settings.Email{
		Address: bot, IMAP: settings.MailServer{Server: "a:1", User: "u", TLS: tlsOff}, SMTP: settings.MailServer{Server: "a:1", TLS: tlsOff},
	})
	if err != nil {
		f.Fatal(err)
	}
	c.lookup = func(string) ([]string, error) { return nil, errors.New("no DNS") }
	f.Fuzz(func(t *testing.T, mail []byte) {
		c.parse(t.Context(), bytes.NewReader(mail), 1000)
		fromHTML(string(mail))
	})
}
