package email

import (
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/plugins/email/emailtest"
)

// What programs add to an answer of one word is not part of it: it would be no answer to an
// approval any more, and no order.
func TestAnswerOfOneWord(t *testing.T) {
	t.Parallel()
	const quote = "\n\n> Ana wants to write note.txt (5 bytes). Reply approve or deny.\n"
	c := channel(t, account(emailtest.New(t)))
	for name, body := range map[string]string{
		"quote":                   "approve\n\nOn Sat, 28 Nov 2026 at 10:00, Shop <bot@shop.test> wrote:" + quote,
		"quote below a long line": "approve\n\nOn Sat, 28 Nov 2026 at 10:00, The Shop of Ana and Ben\n<bot@shop.test> wrote:" + quote,
		"quote in Czech":          "approve\n\nso 28. 11. 2026 v 10:00 odesílatel The Shop of Ana and Ben\n<bot@shop.test> napsal:" + quote,
		"quote in Chinese":        "approve\n\nShop <bot@shop.test> 于2026年11月28日周六 18:00写道：" + quote,
		"signature":               "approve\n\n-- \nAna",
		"iPhone":                  "approve\n\nSent from my iPhone\n\n> On 28 Nov 2026, at 10:00, Shop <bot@shop.test> wrote:\n>" + quote,
		"iPhone in German":        "approve\n\nVon meinem iPhone gesendet\n\n> Am 28.11.2026 um 10:00 schrieb Shop <bot@shop.test>:" + quote,
		"phone":                   "approve\n\nGet Outlook for Android<https://aka.ms/x>\n________________________________\nFrom: Shop <bot@shop.test>\nSent: Saturday\nTo: Ana\n\nAna wants",
		"Outlook":                 "approve\n\nFrom: Shop <bot@shop.test>\nSent: Saturday, November 28, 2026 10:00 AM\nTo: Ana <ana@people.test>\nSubject: Re: hi\n\nAna wants",
		"Outlook in German":       "approve\n\nVon: Shop <bot@shop.test>\nGesendet: Samstag, 28. November 2026 10:00\nAn: Ana\nBetreff: AW: hi\n\nAna wants",
	} {
		source := "From: ana@people.test\nSubject: Re: hi\nMessage-Id: <m2@people.test>\nIn-Reply-To: <m1@shop.test>\n\n" + body + "\n"
		m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
		if m.received.Text != "approve" {
			t.Errorf("%s: got %q", name, m.received.Text)
		}
	}
}

// What only looks like such an addition stays.
func TestWordsOfTheSenderStay(t *testing.T) {
	t.Parallel()
	c := channel(t, account(emailtest.New(t)))
	for _, body := range []string{
		"Which key?\nSent from my iPhone",
		"Sent from my iPhone",
		"Where is it?\n\nSent from our side it was on Monday.",
		"> all of it\n> is a quote",
		"From: is what I miss\nDate: as well",
		"From: Berlin\nto: Paris",
		"Please book:\nFrom: Berlin\nDate: 12 December\nTo: Paris\nClass: second",
		"Bitte buchen:\nVon: Berlin\nDatum: 12. Dezember\nNach: Paris",
		"> which?\nthe second\n> and?\nno",
		"Gesendet von Ana, ist das so?\n\nja",
	} {
		source := "From: ana@people.test\nSubject: Re: hi\nMessage-Id: <m2@people.test>\nIn-Reply-To: <m1@shop.test>\n\n" + body + "\n"
		m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
		if m.received.Text != body {
			t.Errorf("of %q %q is left", body, m.received.Text)
		}
	}
}

// A page may leave out the end of its head.
func TestPageWithoutEndOfItsHead(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"<html><head><meta charset=utf-8><title>x</title><style>p {}</style><body><p>hello</p></body></html>": "hello",
		"<head><title>x</title><p>hello":                                             "hello",
		"<html>\n<head>\n<script>x</script>\n</head>\n<body>\nhello\n</body></html>": "hello",
	} {
		if got := fromHTML(source); got != want {
			t.Errorf("of %s %q is left", source, got)
		}
	}
}

// What has a Content-Type that cannot be read is not hidden in a file.
func TestWrongContentType(t *testing.T) {
	t.Parallel()
	c := channel(t, account(emailtest.New(t)))
	for kind, file := range map[string]string{
		"text": "", "text/plain; charset": "", "text/plain; charset=": "", "": "", "text/plain;charset=utf-8; ; x": "", "plain text": "",
		"application/pdf; name": "application/pdf",
	} {
		source := "From: ana@people.test\nMessage-Id: <m1@people.test>\nMIME-Version: 1.0\nContent-Type: " + kind + "\n\nhello\n"
		m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
		switch {
		case file == "" && m.received.Text != "hello":
			t.Errorf("%q: got %q and %d files", kind, m.received.Text, len(m.received.Files))
		case file != "" && (len(m.received.Files) != 1 || m.received.Files[0].MIME != file):
			t.Errorf("%q: got %q and %+v", kind, m.received.Text, m.received.Files)
		}
	}
}

// An order or an answer in the first mail of a thread can be told from the subject before it.
func TestOrderInTheFirstMailOfAThread(t *testing.T) {
	t.Parallel()
	c := channel(t, account(emailtest.New(t)))
	for source, want := range map[string]string{
		"Subject: Shop\n\n/stop\n": "/stop", "Subject: approve\n\n": "approve", "Subject: =?utf-8?q?Gr=C3=BC=0D=0A=C3=9Fe?=\n\nyes\n": "yes", "X: y\n\nno\n": "no",
		"Subject: Shop\n\n/stop\n\nSent from my iPhone\n": "/stop",
	} {
		m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll("From: ana@people.test\nMessage-Id: <m1@people.test>\n"+source, "\n", "\r\n")), 1000)
		in := bus.Inbound{Text: m.received.Text, Meta: m.received.Meta}
		if got := in.Said(); got != want {
			t.Errorf("%q says %q", source, got)
		}
	}
}
