package irc

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"

	"agenthost/plugins"
)

// maxNickTries is how many letters a nick gets that is taken.
const maxNickTries = 3

// capabilities are those that the channel has a use for.
var capabilities = []string{
	"account-tag", "batch", "draft/chathistory", "echo-message", "labeled-response", "message-tags", "sasl", "server-time",
}

// A login is a connection on its way to be registered.
type login struct {
	*connection
	offered    map[string]string
	registered bool // NICK and USER are sent
	tries      int
}

// login registers the connection. It returns when the server has greeted it.
func (c *connection) login() error {
	l := &login{connection: c, offered: map[string]string{}}
	// Not the deadline of a single line: a server that says something now and then
	// must not hold the login up.
	defer time.AfterFunc(loginWithin, c.close).Stop()
	if err := c.write("CAP", "LS", "302"); err != nil {
		return err
	}
	for {
		m, err := c.read()
		if err != nil {
			return l.refused(err)
		}
		done, err := l.step(m)
		if done || err != nil {
			return err
		}
	}
}

// step handles a line. done is true at the end of the greeting.
func (l *login) step(m ircmsg.Message) (done bool, err error) {
	switch m.Command {
	case "CAP":
		return false, l.capability(m)
	case "421", "451": // an old server knows nothing of CAP
		return false, l.register()
	case "AUTHENTICATE":
		return false, l.plain()
	case "903":
		return false, l.end()
	case "902", "904", "905", "906", "464", "465":
		return false, plugins.NoLogin(fmt.Errorf("%s does not let %s in: %s; check user and password", l.settings.Server, l.settings.User, last(m)))
	case "432":
		return false, plugins.NoLogin(fmt.Errorf("%s does not take the nick %s: %s", l.settings.Server, l.nick, last(m)))
	case "433", "436", "437":
		return false, l.nextNick()
	case "001":
		l.nick, l.greeted = param(m, 0), sentAt(m)
	case "005":
		l.supports(m)
	case "376", "422":
		return true, nil
	case "PRIVMSG", "JOIN", "NICK": // a bouncer, or people who are quick
		l.early = append(l.early, m)
	}
	return false, nil
}

// refused makes a login error of a ban.
func (l *login) refused(err error) error {
	text := strings.ToLower(err.Error())
	for _, word := range []string{"banned", "k-lined", "g-lined", "bad password", "password incorrect", "access denied"} {
		if strings.Contains(text, word) {
			return plugins.NoLogin(fmt.Errorf("%s does not let %s in: %w", l.settings.Server, l.settings.Nick, err))
		}
	}
	return err
}

func (l *login) capability(m ircmsg.Message) error {
	switch param(m, 1) {
	case "LS":
		for word := range strings.FieldsSeq(last(m)) {
			name, value, _ := strings.Cut(word, "=")
			l.offered[name] = value
		}
		if len(m.Params) > 3 && m.Params[2] == "*" {
			return nil // there are more
		}
		return l.request()
	case "ACK":
		for name := range strings.FieldsSeq(last(m)) {
			l.caps[name] = l.offered[name]
		}
		if _, ok := l.caps["sasl"]; ok {
			return l.write("AUTHENTICATE", "PLAIN")
		}
		return l.end()
	case "NAK":
		return l.end()
	}
	return nil
}

// request asks for what the server offers and the channel has a use for.
func (l *login) request() error {
	var want []string
	for _, name := range capabilities {
		if _, ok := l.offered[name]; ok && (name != "sasl" || l.settings.Password != "") {
			want = append(want, name)
		}
	}
	if mechanisms, ok := l.offered["sasl"]; ok && l.settings.Password != "" && mechanisms != "" && !strings.Contains(","+mechanisms+",", ",PLAIN,") {
		return plugins.NoLogin(fmt.Errorf("%s takes no password: it offers SASL %s, not PLAIN", l.settings.Server, mechanisms))
	}
	if len(want) == 0 {
		return l.end()
	}
	if err := l.register(); err != nil {
		return err
	}
	return l.write("CAP", "REQ", strings.Join(want, " "))
}

// plain sends the password of SASL PLAIN.
func (l *login) plain() error {
	secret := base64.StdEncoding.EncodeToString([]byte("\x00" + l.settings.User + "\x00" + l.settings.Password))
	for len(secret) >= 400 {
		if err := l.write("AUTHENTICATE", secret[:400]); err != nil {
			return err
		}
		secret = secret[400:]
	}
	if secret == "" {
		secret = "+"
	}
	return l.write("AUTHENTICATE", secret)
}

func (l *login) end() error {
	if err := l.register(); err != nil {
		return err
	}
	return l.write("CAP", "END")
}

// register names the account, once. Where there is no SASL the password is the
// server's.
func (l *login) register() error {
	if l.registered {
		return nil
	}
	l.registered = true
	if _, ok := l.offered["sasl"]; !ok && l.settings.Password != "" {
		if err := l.write("PASS", l.settings.Password); err != nil {
			return err
		}
	}
	l.nick = l.settings.Nick
	if err := l.write("NICK", l.nick); err != nil {
		return err
	}
	return l.write("USER", userName(l.settings.User), "0", "*", l.settings.Nick)
}

// userName is what servers take as the user of nick!user@host.
func userName(user string) string {
	user = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '@' && r != '!' && r != ':' {
			return r
		}
		return -1
	}, user)
	if user == "" {
		return "agent"
	}
	return user[:min(len(user), longestUser-1)]
}

func (l *login) nextNick() error {
	if l.tries == maxNickTries {
		return fmt.Errorf("the nick %s and %d others are in use on %s", l.settings.Nick, maxNickTries, l.settings.Server)
	}
	l.tries++
	l.nick += "_"
	return l.write("NICK", l.nick)
}

// supports reads what the server says of itself.
func (l *login) supports(m ircmsg.Message) {
	for _, word := range m.Params[min(1, len(m.Params)):] {
		name, value, _ := strings.Cut(word, "=")
		l.support[name] = value
	}
}
