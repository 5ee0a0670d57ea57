package irc

import (
	"testing"

	"github.com/ergochat/irc-go/ircmsg"

	"agenthost/plugins/settings"
)

// What is said to those of a channel who have a rank is said in that channel, and not to the
// account alone.
func TestLineForTheOperatorsOfAChannel(t *testing.T) {
	t.Parallel()
	s := &session{connection: &connection{settings: settings.IRC{Nick: "bot"}, nick: "bot", support: map[string]string{"CHANTYPES": "#", "STATUSMSG": "@+"}}}
	for target, chat := range map[string]string{"@#room": "#room", "+#Room": "#room", "#room": "#room", "bot": "", "@+#room": "#room"} {
		m, err := ircmsg.ParseLine(":ana!u@h PRIVMSG " + target + " :hello all")
		if err != nil {
			t.Fatal(err)
		}
		l, ok := s.line(m)
		if got := l.received; !ok || got.Chat != chat || got.Group != (chat != "") || got.Mentioned {
			t.Errorf("to %s: %+v", target, got)
		}
	}
}

// A reply in a channel goes to the name that the server knows: #Über is not #über to a network
// that folds ASCII alone, as most do.
func TestLineInAChannelWithLettersBeyondASCII(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ mapping, said, chat string }{
		{"ascii", "#Über", "#Über"},
		{"ascii", "#ROOM[1]", "#room[1]"},
		{"", "#Москва", "#Москва"},
		{"rfc1459", "#A[\\]~", "#a{|}^"},
		{"rfc1459-strict", "#A[\\]~", "#a{|}~"},
		{"RFC1459", "#A[", "#a{"},
		{"rfc7613", "#Über", "#über"},
	} {
		s := &session{connection: &connection{nick: "bot", support: map[string]string{"CASEMAPPING": tt.mapping}}}
		m, err := ircmsg.ParseLine(":ana!a@h PRIVMSG " + tt.said + " :bot: hi")
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := s.line(m); !ok || l.received.Chat != tt.chat {
			t.Errorf("CASEMAPPING=%s: what is said in %s is answered in %q", tt.mapping, tt.said, l.received.Chat)
		}
	}
}
