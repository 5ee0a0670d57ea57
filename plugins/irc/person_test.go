package irc

import (
	"strings"
	"testing"
	"time"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/irc/irctest"
)

// What is for an account goes to no other person that has its nick, or the nick that is called
// like it: where the server has not just said who has it, it is asked.
func TestAnotherHasTheNick(t *testing.T) {
	t.Parallel()
	for _, caps := range []string{irctest.AllCaps, "account-tag message-tags server-time"} { // with labels, and without
		s := irctest.New(t, caps)
		s.Accounts = map[string]string{"ana": "mallory", "two": "mallory", "four": "mallory", "three": "ana"}
		c, in := started(t, s)
		to := plugins.Message{Place: plugins.Place{To: "ana"}, Text: "secret"}
		refused := func(when string) {
			t.Helper()
			if _, err := c.Deliver(t.Context(), to); err == nil || !strings.Contains(err.Error(), "the account ana is not there as") {
				t.Errorf("%s: %v", when, err)
			}
			if lines := s.Lines("PRIVMSG"); len(lines) > 0 {
				t.Errorf("%s another got %q", when, lines)
			}
		}
		refused("after the login")
		s.Say("@account=ana;time=%s;msgid=1 :two!a@h PRIVMSG bot :hi", time.Now().Add(-time.Hour).UTC().Format(stampForm))
		in.next(t, 1)
		refused("an hour later")
		s.Say(":two!m@h NICK four") // of mallory
		s.Say("@account=bo;time=%s;msgid=2 :bo!b@h PRIVMSG bot :hi", time.Now().UTC().Format(stampForm))
		in.next(t, 2)
		refused("after another has given up the nick")
		s.Say("@account=ana;time=%s;msgid=3 :three!a@h PRIVMSG bot :hi", time.Now().Add(-time.Minute).UTC().Format(stampForm))
		in.next(t, 3)
		if _, err := c.Deliver(t.Context(), to); err != nil {
			t.Error(err)
		}
		waittest.Until(t, "the line is there", func() bool { return len(s.Lines("PRIVMSG")) == 1 })
		if got := s.Lines("PRIVMSG")[0]; !strings.Contains(got, " three ") {
			t.Errorf("sent to %q", got)
		}
	}
}
