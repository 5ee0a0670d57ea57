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
