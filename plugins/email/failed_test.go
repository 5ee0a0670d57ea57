package email

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/internal/waittest"
	"agenthost/plugins/email/emailtest"

	"github.com/emersion/go-imap/v2"
)

func mailOf(n int) string {
	return fmt.Sprintf("From: ana@people.test\nSubject: Re: hi\nMessage-Id: <m%d@people.test>\nIn-Reply-To: <m0@people.test>\n\nmail %[1]d\n", n)
}

// A mail that the server does not give, such as a damaged file, does not hold up those behind it.
// Without any behind it, it is tried again: the server may be giving no mail at all.
func TestMailThatTheServerDoesNotGive(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	c := channel(t, account(p))
	serve(t, c, in)
	for uid := range imap.UID(2) {
		p.Damage(uid + 2)
	}
	p.Arrive(mailOf(1))
	in.next(t, 1)
	p.Arrive(mailOf(2))
	p.Arrive(mailOf(3))
	waittest.Until(t, "the first is tried often", func() bool { return in.connected() > mostFetches+2 })
	if odd := in.refused(); len(odd) > 0 {
		t.Errorf("given up where the server gives no mail: %q", odd)
	}
	p.Arrive(mailOf(4))
	if m := in.next(t, 2); m.Text != "mail 4" {
		t.Errorf("got %+v", m)
	}
	waittest.Until(t, "both are refused", func() bool { return len(in.refused()) == 2 })
	for _, odd := range in.refused() {
		if !strings.Contains(odd, "stays unseen") {
			t.Errorf("refused: %s", odd)
		}
	}
	p.Arrive(mailOf(5))
	if m := in.next(t, 3); m.Text != "mail 5" {
		t.Errorf("got %+v", m)
	}
}

// A mail that the server did not give for a while, as while its storage was away, is not lost to
// one that comes when it gives them again.
func TestMailThatTheServerGivesAgain(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	serve(t, channel(t, account(p)), in)
	p.Damage(1)
	p.Damage(2)
	p.Mends()
	p.Arrive(mailOf(1))
	p.Arrive(mailOf(2))
	waittest.Until(t, "both are tried often", func() bool { return in.connected() > 2*mostFetches+2 })
	p.Arrive(mailOf(3))
	got := []string{in.next(t, 1).Text, in.next(t, 2).Text, in.next(t, 3).Text}
	if want := []string{"mail 3", "mail 1", "mail 2"}; !slices.Equal(got, want) || len(in.refused()) > 0 {
		t.Errorf("got %q, refused %q", got, in.refused())
	}
}

func (in *memory) refused() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.odd)
}
