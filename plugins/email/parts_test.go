package email

import (
	"strings"
	"testing"

	"agenthost/plugins/email/emailtest"
)

// What a person has written is not lost by what is wrong with its parts.
func TestPartsThatAreWrong(t *testing.T) {
	t.Parallel()
	const parts = "\n\n--b\nContent-Type: text/plain\n\nhello\n--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n\npdf\n--b--\n"
	const unread = "(A part of this mail could not be read.)"
	c := channel(t, account(emailtest.New(t)))
	for source, want := range map[string]string{
		"multipart/mixed; boundary=b" + parts:                                                                   "hello",
		"multipart/mixed; boundary=other" + parts:                                                               "hello",
		"multipart/mixed; boundary=bb" + parts:                                                                  "hello",
		"multipart/mixed; boundary=" + parts:                                                                    "hello",
		"multipart/mixed; boundary; x" + parts:                                                                  "hello",
		"multipart/mixed; boundary=b" + strings.ReplaceAll(parts, "--b", "--bb"):                                "hello",
		"multipart/mixed" + parts:                                                                               "hello",
		"multipart/mixed; boundary=other\n\nThis has parts." + parts:                                            "hello",
		"multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/alternative; boundary=x\n" + parts[1:]:     "hello",
		"multipart/alternative; boundary=x\n\nhello\n":                                                          "hello",
		"multipart/alternative; boundary=x\n\nhello\n--\nAna\n":                                                 "hello\n--\nAna",
		"multipart/mixed; boundary=b\n\n--b\n\nhello\n--b\nno header and no empty line\n--b\n\nyou\n--b--\n":    "hello\n\n" + unread,
		"multipart/mixed; boundary=b\n\n--b\nno header and no empty line\n--b--\n":                              unread,
		"multipart/mixed; boundary=b\n\n--b\n\nhello\n":                                                         "hello",
		"multipart/mixed; boundary=b\n\n--b\nContent-Transfer-Encoding: nonsense\n\nhello\n--b--\n":             "hello",
		"multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=utf-7\n\ngr+APwA3w-e\n--b--\n":   "grüße",
		"multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-7\n\n<p>gr+APwA3w-e\n--b--\n": "grüße",
	} {
		source = "From: ana@people.test\nMessage-Id: <m@people.test>\nIn-Reply-To: <x@y>\nContent-Type: " + source
		m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
		if m.received.Text != want {
			t.Errorf("of %q %q is left", source, m.received.Text)
		}
		if strings.Contains(source, ".pdf") && len(m.received.Files) != 1 {
			t.Errorf("of %q there are %d files", source, len(m.received.Files))
		}
	}
}

func TestFromUTF7(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "A+ImIDkQ.": "A≢Α.", "Hi Mom -+Jjo--!": "Hi Mom -☺-!", "+ZeVnLIqe-": "日本語", "1 +- 1": "1 + 1", "+2D3eAA-": "😀", "item 3 +AKM-1": "item 3 £1",
		"+": "+", "1 + 1": "1 + 1", "+A": "+A", "+AGEA-": "+AGEA-",
	} {
		if got := fromUTF7(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
