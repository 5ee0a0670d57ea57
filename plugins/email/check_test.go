package email

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"

	"agenthost/plugins/email/emailtest"

	"github.com/emersion/go-msgauth/dkim"
)

// A signature is for the lowest header of a name. Who has a signed mail of a domain, be it their
// own, must not be able to put another sender or text before it.
func TestSignedMailWithHeadersBeforeIt(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	mail := "From: mallory@people.test\r\nSubject: hi\r\nMessage-Id: <m1@people.test>\r\nContent-Type: text/plain\r\n\r\nhello\r\n"
	var signed bytes.Buffer
	options := &dkim.SignOptions{Domain: "people.test", Selector: "s", Signer: private, HeaderKeys: []string{"From", "Subject", "Message-Id", "Content-Type"}}
	if err := dkim.Sign(&signed, strings.NewReader(mail), options); err != nil {
		t.Fatal(err)
	}
	c := channel(t, account(emailtest.New(t)))
	c.lookup = func(string) ([]string, error) {
		return []string{"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)}, nil
	}
	own := "Authentication-Results: mx.shop.test; dkim=pass header.d=people.test\r\n"
	for before, want := range map[string]string{
		"":                                 pass,
		"Received: from a by b; today\r\n": pass,
		own:                                pass,
		"Subject: Pay 100 to Mallory\r\n":  fail,
		"Content-Type: text/html\r\n":      fail,
		own + "Subject: Pay 100\r\n":       fail,
	} {
		m := c.parse(t.Context(), strings.NewReader(before+signed.String()), 1000)
		if m.received.Meta["dkim"] != want || m.refused != nil {
			t.Errorf("with %q before it: %v, %v", before, m.received.Meta, m.refused)
		}
	}
	for _, before := range []string{"From: boss@people.test\r\n", own + "From: boss@people.test\r\n"} {
		m := c.parse(t.Context(), strings.NewReader(before+signed.String()), 1000)
		if m.refused == nil || m.received.From != "" || m.received.Meta["dkim"] == pass {
			t.Errorf("with %q before it: %+v, %v", before, m.received, m.refused)
		}
	}
}

// A subject that no signature is for may be of another: in a mail without text it is the answer.
func TestSubjectThatIsNotSigned(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := channel(t, account(emailtest.New(t)))
	c.lookup = func(string) ([]string, error) {
		return []string{"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)}, nil
	}
	for _, tt := range []struct {
		added  string
		signed []string
		want   string
	}{
		{"", []string{"From"}, pass},
		{"", []string{"From", "subject"}, pass},
		{"Subject: approve\r\n", []string{"From"}, fail},
		{"Subject: approve\r\n", []string{"From", "subject"}, fail}, // the signature covers its absence
	} {
		var signed bytes.Buffer
		mail := "From: ana@people.test\r\nMessage-Id: <m1@people.test>\r\n\r\n\r\n"
		if err := dkim.Sign(&signed, strings.NewReader(mail), &dkim.SignOptions{Domain: "people.test", Selector: "s", Signer: private, HeaderKeys: tt.signed}); err != nil {
			t.Fatal(err)
		}
		m := c.parse(t.Context(), strings.NewReader(tt.added+signed.String()), 1000)
		if m.received.Meta["dkim"] != tt.want {
			t.Errorf("signed are %q, added is %q: got %v", tt.signed, tt.added, m.received.Meta)
		}
	}
}
