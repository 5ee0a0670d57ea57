package email

import (
	"strings"
	"testing"

	"agenthost/plugins/email/emailtest"
)

const asked = "> Ana wants to write note.txt (5 bytes). Reply approve or deny.\n>\n> 1. approve\n> 2. deny\n"

// answered is the text of a mail by Ann Smith that answers another.
func answered(t *testing.T, c *Channel, body string) string {
	t.Helper()
	source := "From: \"Smith, Ann\" <a.smith@people.test>\nSubject: Re: hi\nMessage-Id: <m2@people.test>\nIn-Reply-To: <m1@shop.test>\n\n" + body + "\n"
	m := c.parse(t.Context(), strings.NewReader(strings.ReplaceAll(source, "\n", "\r\n")), 1000)
	return m.received.Text
}

// An answer of one word is one also as a letter, and below what it answers.
func TestAnswerAsALetter(t *testing.T) {
	t.Parallel()
	c := channel(t, account(emailtest.New(t)))
	for _, body := range []string{
		"approve\n\nBest regards,\nAnn",
		"approve\n\nBest regards, Ann",
		"approve\n\nKind regards\n\nAnn Smith",
		"approve\n\nBest,\nA. Smith",
		"approve\nThanks!\nann",
		"approve\n\nThank you",
		"approve\n\nMit freundlichen Grüßen\nAnn Smith",
		"approve\n\nCordialement,\nAnn\n\nSent from my iPhone",
		"approve\n\nBest regards,\nAnn\n\nOn Sat, 28 Nov 2026 at 10:00, Shop <bot@shop.test> wrote:\n" + asked,
		"On Sat, 28 Nov 2026 at 10:00, Shop <bot@shop.test> wrote:\n" + asked + "\napprove",
		"On Sat, 28 Nov 2026 at 10:00, The Shop of Ana and Ben\n<bot@shop.test> wrote:\n\n" + asked + "\napprove\n\nBest regards,\nAnn\n-- \nAnn Smith\nSales",
		asked + "approve",
	} {
		if text := answered(t, c, body); text != "approve" {
			t.Errorf("of %q %q is left", body, text)
		}
	}
	for body, want := range map[string]string{
		"> anything\n\n/stop": "/stop",
		"> Which one?\n>\n> 1. the red one\n> 2. the blue one\n\nthe blue one": "the blue one",
	} {
		if text := answered(t, c, body); text != want {
			t.Errorf("of %q %q is left", body, text)
		}
	}
}

// What may be meant otherwise is no answer of one word: nothing is approved by it.
func TestLetterThatSaysMore(t *testing.T) {
	t.Parallel()
	c := channel(t, account(emailtest.New(t)))
	for _, body := range []string{
		"Best regards,\nAnn",
		"approve\n\nBest regards,\nNot yet",
		"approve\n\nThanks, but wait",
		"approve\n\nBest of both",
		"approve\n\nBestow it on Ann",
		"approve\n\nBest regards,\nAnn\n\nP.S. Only after Monday.",
		"approve\n\nonly the first\n\nBest regards,\nAnn",
		"approve\n\nAnn",
		"> Shall I delete the first?\n\nyes", // of a mail with an approval, too, perhaps
		"> Ana wants to write b.txt (5 bytes). Reply approve 2 or deny 2.\n\napprove",
		"> Ana wants to write b.txt (5 bytes).\n\napprove",
		"> 1. approve all\n> 2. deny all\n\nyes",
		asked + "\nyes\nbut the second only",
		asked + "\nyes\n\n> and the second?\n\nno",
		"I said on Monday\nthat it is so:\n" + asked + "\nyes",
	} {
		if text := answered(t, c, body); text != body {
			t.Errorf("of %q %q is left", body, text)
		}
	}
}
