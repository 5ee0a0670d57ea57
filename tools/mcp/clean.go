package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const shownText = 1000 // characters of one text of a server in a question

// clean is a server's text on one line and without what is not printed: it
// looks like no message of another, and turns no text around.
func clean(text string) string {
	text = strings.Join(strings.Fields(strings.Map(printed, strings.ToValidUTF8(text, "\uFFFD"))), " ")
	if utf8.RuneCountInString(text) > shownText {
		text = string([]rune(text)[:shownText]) + "…"
	}
	return text
}

func printed(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r):
		return -1
	default:
		return r
	}
}

// secretWords are what a form asks for that wants a secret. Two words stand for
// themselves in this order, and written as one.
var secretWords = []string{
	"password", "passwords", "passwd", "passphrase", "passcode", "pwd", "pin", "otp", "totp", "cvv", "cvc",
	"one time code", "verification code", "recovery code", "secret", "secrets", "token", "tokens",
	"api key", "api keys", "access key", "private key", "secret key", "ssh key", "seed phrase",
	"credential", "credentials", "credit card", "card number", "bearer", "cookie", "auth code",
}

// wantsSecret reports whether a form asks in free words for what gives access
// to something. What a person types goes through a chat into a log.
func wantsSecret(message string, form []field) bool {
	for _, f := range form {
		if f.fewAnswers() {
			continue
		}
		said := spaced(message) + spaced(f.name) + spaced(f.Title) + spaced(f.Description) + spaced(f.Format)
		for _, word := range secretWords {
			if strings.Contains(said, " "+word+" ") || strings.Contains(said, " "+strings.ReplaceAll(word, " ", "")+" ") {
				return true
			}
		}
	}
	return false
}

// leastSecret is the lowest highest number of a field that a secret fits into, such
// as a PIN of four digits.
const leastSecret = 1000

// fewAnswers reports whether the field takes so few answers that none is a secret.
func (f field) fewAnswers() bool {
	return f.Type == "boolean" || len(f.choices()) > 0 || f.Maximum != nil && *f.Maximum < leastSecret
}

// spaced is text as words in lower case with a space before and after each:
// accessToken and ACCESS_TOKEN are two words.
func spaced(text string) string {
	var b strings.Builder
	lower := false
	for _, r := range norm.NFKC.String(clean(text)) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case lower && unicode.IsUpper(r):
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return " " + strings.Join(strings.Fields(b.String()), " ") + " "
}
