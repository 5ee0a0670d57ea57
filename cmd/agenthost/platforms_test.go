package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"agenthost/plugins/discord/discordtest"
	"agenthost/plugins/email/emailtest"
	"agenthost/plugins/irc/irctest"
	"agenthost/plugins/matrix/matrixtest"
	"agenthost/plugins/slack/slacktest"
	"agenthost/plugins/telegram/telegramtest"
)

// A platform is a server with one account and one person.
type platform struct {
	settings string // of the account, in YAML
	write    func(text string)
	texts    func() []string // what the account has sent to the person, as it is shown
	once     bool            // a reply that is sent twice is shown once
	unsorted bool            // what was not acknowledged comes again in any order
	// sent counts what the account has sent, with what is not shown twice; nil: texts has all.
	sent func() int
	talk func() string // all that the person sees, for a failure; may be nil
}

// platforms are those of the channels in the product that log in to a server.
var platforms = map[string]func(t *testing.T) platform{
	"telegram": newTelegram, "discord": newDiscord, "slack": newSlack, "matrix": newMatrix, "irc": newIRC, "email": newEmail,
}

func newTelegram(t *testing.T) platform {
	s := telegramtest.New(t)
	return platform{
		settings: fmt.Sprintf("{token: %q, api: %q}", telegramtest.Token, s.URL),
		write:    func(text string) { s.Write(telegramtest.Message{From: 7, Name: "Ana", Text: text}) },
		texts:    func() []string { return textsOf(s.Messages(7), func(m telegramtest.Message) string { return m.Text }) },
	}
}

func newDiscord(t *testing.T) platform {
	s, dm := discordtest.New(t), discordtest.PrivateRoom("7")
	return platform{
		settings: fmt.Sprintf("{token: %q, api: %q}", discordtest.Token, s.URL),
		write:    func(text string) { s.Write(discordtest.Message{From: "7", Name: "Ana", Text: text}) },
		texts:    func() []string { return textsOf(s.Messages(dm), func(m discordtest.Message) string { return m.Text }) },
		once:     true,
	}
}

func newSlack(t *testing.T) platform {
	s := slacktest.New(t)
	s.AddUser("U1", "Ana")
	return platform{
		settings: fmt.Sprintf("{app_token: %q, bot_token: %q, api: %q}", slacktest.AppToken, slacktest.BotToken, s.URL),
		write:    func(text string) { s.Say(slacktest.Message{Channel: "D1", User: "U1", Text: text}) },
		texts:    func() []string { return textsOf(s.Messages("D1"), func(m slacktest.Message) string { return m.Text }) },
		unsorted: true,
	}
}

func newMatrix(t *testing.T) platform {
	s := matrixtest.New(t)
	bot, ana := s.AddUser("bot", "secret"), s.AddUser("ana", "")
	room := s.Room(ana, bot)
	return platform{
		settings: fmt.Sprintf("{homeserver: %q, user: bot, password: secret}", s.URL),
		write:    func(text string) { s.Say(room, ana, text) },
		texts: func() []string {
			return textsOf(s.Messages(room, bot), func(e matrixtest.Event) string { return fmt.Sprint(e.Content["body"]) })
		},
		once: true,
	}
}

func newIRC(t *testing.T) platform {
	s := irctest.New(t, irctest.AllCaps)
	return platform{
		settings: fmt.Sprintf("{server: %q, tls: false, nick: bot, rate: 1000}", s.Address()),
		write:    func(text string) { s.Write("ana", "bot", text) },
		texts:    func() []string { return s.Said("ana") },
	}
}

// People's programs show a mail once that has come twice, by its Message-Id.
func newEmail(t *testing.T) platform {
	s, written := emailtest.New(t), 0
	server := func(address string) string {
		return fmt.Sprintf("{server: %q, user: %s, password: %s, tls: 'off'}", address, emailtest.User, emailtest.Password)
	}
	return platform{
		settings: fmt.Sprintf("{address: %s, imap: %s, smtp: %s}", emailtest.Address, server(s.IMAP), server(s.SMTP)),
		write: func(text string) {
			written++
			s.Arrive(fmt.Sprintf("From: Ana <ana@people.test>\nTo: %s\nMessage-Id: <%d@people.test>\nReferences: <root@people.test>\n\n%s\n\nOn Monday Shop wrote:\n> earlier\n", emailtest.Address, written, text))
		},
		texts: func() []string { return shownMails(s.Mails()) },
		sent:  func() int { return len(s.Mails()) },
		once:  true,
	}
}

// shownMails are the bodies of mails, as programs show them: once, by Message-Id.
func shownMails(mails [][]byte) (texts []string) {
	shown := map[string]bool{}
	for _, mail := range mails {
		header, body, _ := strings.Cut(strings.ReplaceAll(string(mail), "\r\n", "\n"), "\n\n")
		id := messageID.FindString(header)
		if !shown[id] {
			texts = append(texts, body)
		}
		shown[id] = true
	}
	return texts
}

var messageID = regexp.MustCompile(`(?i)\nmessage-id: .*`)

func textsOf[M any](messages []M, text func(M) string) (texts []string) {
	for _, m := range messages {
		texts = append(texts, text(m))
	}
	return texts
}

var numbered = regexp.MustCompile(`\bm\d\d\b`)

// numbers are the messages that were answered, in the order of the replies.
func (p platform) numbers() (all []string) {
	for _, text := range p.texts() {
		all = append(all, numbered.FindString(text))
	}
	return all
}

// config is a configuration with the account, on NATS of its own or of nats.
func (p platform) config(channel, nats string) string {
	if nats == "" {
		nats = "{embedded: {listen: ''}}"
	}
	return fmt.Sprintf(`
http: {listen: ""}
nats: %s
models: {main: {provider: echo}}
agents: [{id: ana, channels: [{channel: %s, instance: one}]}]
plugins: {%s: {one: %s}}
`, nats, channel, channel, p.settings)
}
