package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Values of Webhook.Scheme and Webhook.Reply.
const (
	SchemeStandard = "standard"
	SchemeGitHub   = "github"
	SchemeToken    = "token"

	ReplyNone     = "none"
	ReplyResponse = "response"
	ReplyCallback = "callback"
)

// faults are what is wrong, in the order of finding it.
type faults [][2]string

func (f *faults) add(key, format string, args ...any) {
	*f = append(*f, [2]string{key, fmt.Sprintf(format, args...)})
}

// need reports an absent value; what says what it would hold.
func (f *faults) need(key, value, what string) {
	if value == "" {
		f.add(key, "%s", what)
	}
}

func (f *faults) url(key, value string) {
	u, err := url.Parse(value)
	if value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		f.add(key, "want http://… or https://…")
	}
}

func (f *faults) address(key, value, example string) {
	if value == "" {
		f.add(key, "host:port, such as %s", example)
		return
	}
	host, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || host == "" {
		f.add(key, "want host:port, such as %s", example)
	}
}

func (f *faults) oneOf(key, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		last := len(known) - 1
		f.add(key, "want %s or %s", strings.Join(known[:last], ", "), known[last])
	}
}

// all yields what is wrong with the account too.
func (f *faults) all(a Account) iter.Seq2[string, string] {
	f.oneOf("groups", string(a.Groups), string(GroupsMention), string(GroupsAll), string(GroupsOff))
	return func(yield func(string, string) bool) {
		for _, one := range *f {
			if !yield(one[0], one[1]) {
				return
			}
		}
	}
}

// Check checks what every account may say.
func (a Account) Check() iter.Seq2[string, string] { return new(faults).all(a) }

// Check checks the sites; a size is checked as it is read.
func (w Web) Check() iter.Seq2[string, string] {
	var f faults
	for i, site := range w.Embed {
		u, err := url.Parse(site)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != site || strings.ContainsAny(site, " ;,'\"") {
			f.add(fmt.Sprintf("embed[%d]", i), "want a site such as https://shop.test, without a path")
		}
	}
	return f.all(w.Common())
}

// Check implements Settings.
func (w Webhook) Check() iter.Seq2[string, string] {
	var f faults
	f.need("secret", w.Secret, "the key that the sender signs with, such as whsec_… or any text")
	if _, err := Secret(w.Secret); err != nil {
		f.add("secret", "%v", err)
	}
	f.oneOf("scheme", w.Scheme, SchemeStandard, SchemeGitHub, SchemeToken)
	f.oneOf("reply", w.Reply, ReplyNone, ReplyResponse, ReplyCallback)
	if w.Reply == ReplyCallback {
		f.need("callback", w.Callback, "where replies are sent, https://…")
	} else if w.Callback != "" {
		f.add("callback", "it is used with reply: callback; add that, or take it out")
	}
	f.url("callback", w.Callback)
	if w.Wait > 0 && w.Reply != ReplyResponse {
		f.add("wait", "it is used with reply: response; add that, or take it out")
	}
	if _, err := ParseTemplate(w.Text); err != nil {
		f.add("text", "%v", err)
	}
	return f.all(w.Account)
}

// Secret is the key of a webhook's signatures: whsec_ and Base64, or the text
// itself.
func Secret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, "whsec_")
	if !ok {
		return []byte(text), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("want Base64 behind whsec_, or a text that begins otherwise")
	}
	return key, nil
}

// Check implements Settings.
func (t Telegram) Check() iter.Seq2[string, string] {
	var f faults
	f.need("token", t.Token, "the token that @BotFather gave")
	f.url("api", t.API)
	f.url("webhook", t.Webhook)
	return f.all(t.Account)
}

// Check implements Settings.
func (d Discord) Check() iter.Seq2[string, string] {
	var f faults
	f.need("token", d.Token, "the token of the bot, from discord.com/developers")
	f.url("api", d.API)
	return f.all(d.Account)
}

// Check implements Settings.
func (s Slack) Check() iter.Seq2[string, string] {
	var f faults
	f.need("app_token", s.AppToken, "the app-level token for socket mode, xapp-…")
	f.need("bot_token", s.BotToken, "the bot token of the installed app, xoxb-…")
	f.url("api", s.API)
	return f.all(s.Account)
}

// Check implements Settings.
func (m Matrix) Check() iter.Seq2[string, string] {
	var f faults
	f.need("homeserver", m.Homeserver, "the address of the homeserver, https://…")
	f.url("homeserver", m.Homeserver)
	if m.Token != "" && m.Password != "" {
		f.add("token", "it stands in place of user and password; keep one of them")
	}
	if m.Token == "" {
		f.need("user", m.User, "the name of the user, with password; or add token")
		f.need("password", m.Password, "the password of the user, or add token in its place")
	}
	return f.all(m.Account)
}

// Check implements Settings.
func (i IRC) Check() iter.Seq2[string, string] {
	var f faults
	f.address("server", i.Server, "irc.libera.chat:6697")
	f.need("nick", i.Nick, "the nick of the agent")
	if strings.ContainsAny(i.Nick, " ,*?!@:\r\n\x00") {
		f.add("nick", "want a nick without spaces and , * ? ! @ :")
	}
	if i.User != "" && i.Password == "" {
		f.add("password", "the password of the user")
	}
	for n, name := range i.Join {
		if name == "" || strings.ContainsAny(name, " ,\a\r\n\x00") || !strings.ContainsAny(name[:1], "#&+!") {
			f.add(fmt.Sprintf("join[%d]", n), "want the name of a channel, such as #help")
		}
	}
	return f.all(i.Account)
}

// Check implements Settings.
func (e Email) Check() iter.Seq2[string, string] {
	var f faults
	if e.Address == "" {
		f.add("address", "what is sent comes from there, such as help@shop.example")
	} else if a, err := mail.ParseAddress(e.Address); err != nil || a.Name != "" {
		f.add("address", "want an address such as help@shop.example")
	}
	f.server("imap", e.IMAP, "imap.shop.example:993")
	f.server("smtp", e.SMTP, "smtp.shop.example:465")
	f.need("imap.user", e.IMAP.User, "whose mail is read")
	if e.IMAP.User == "" {
		f.need("imap.password", e.IMAP.Password, "the password of the user")
	}
	return f.all(e.Account)
}

func (f *faults) server(key string, s MailServer, example string) {
	f.address(key+".server", s.Server, example)
	f.oneOf(key+".tls", s.TLS, "on", "starttls", "off")
	if s.User != "" && s.Password == "" {
		f.add(key+".password", "the password of the user")
	}
}

// Check implements Settings.
func (e Exec) Check() iter.Seq2[string, string] {
	var f faults
	if len(e.Command) == 0 || e.Command[0] == "" {
		f.add("command", "the program and its arguments, such as [./mybot]")
	}
	return f.all(e.Account)
}
