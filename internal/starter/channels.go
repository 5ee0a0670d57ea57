package starter

import (
	"slices"
	"strings"
)

// A Field is something that an account of a channel needs to be told.
type Field struct {
	Key      string // in the configuration, below the account
	Ask      string // in words
	Secret   bool   // it goes to a file of its own
	Optional bool
	Unasked  bool   // it can be set, for servers of one's own
	Same     string // the key whose value it has unless it gets one of its own
	Example  string
}

// api is where a platform is, for those that can be elsewhere.
var api = Field{Key: "api", Optional: true, Unasked: true}

// fields are those of the channels that can be asked for, by channel.
var fields = map[string][]Field{
	"web":      {},
	"telegram": {{Key: "token", Ask: "Token of the bot, from @BotFather", Secret: true, Example: "123456:ABC-DEF"}, api},
	"discord":  {{Key: "token", Ask: "Token of the bot, from the developer portal", Secret: true}, api},
	"slack": {
		{Key: "app_token", Ask: "App-level token", Secret: true, Example: "xapp-…"},
		{Key: "bot_token", Ask: "Bot token", Secret: true, Example: "xoxb-…"},
		api,
	},
	"matrix": {
		{Key: "homeserver", Ask: "Homeserver", Example: "https://matrix.org"},
		{Key: "user", Ask: "User", Example: "@ana:matrix.org"},
		{Key: "password", Ask: "Password", Secret: true},
	},
	"irc": {
		{Key: "server", Ask: "Server, with TLS", Example: "irc.libera.chat:6697"},
		{Key: "nick", Ask: "Nick"},
		{Key: "password", Ask: "Password, for SASL", Secret: true, Optional: true},
	},
	"email": {
		{Key: "address", Ask: "Address", Example: "help@shop.example"},
		{Key: "imap.server", Ask: "IMAP server", Example: "imap.shop.example:993"},
		{Key: "imap.user", Ask: "User of it", Same: "address"},
		{Key: "imap.password", Ask: "Password of it", Secret: true},
		{Key: "smtp.server", Ask: "SMTP server", Example: "smtp.shop.example:465"},
		{Key: "smtp.user", Ask: "User of it", Same: "imap.user"},
		{Key: "smtp.password", Ask: "Password of it", Secret: true, Same: "imap.password"},
	},
}

// Channels are those that can be asked for, the chat page first.
func Channels() []string {
	return []string{"web", "telegram", "discord", "slack", "matrix", "irc", "email"}
}

// Fields are what an account of a channel is asked; ok is false for a channel that there
// is not.
func Fields(channel string) (list []Field, ok bool) {
	list, ok = fields[channel]
	return list, ok
}

// DefaultInstance is the name of an account that has got none.
const DefaultInstance = "main"

// An Account is one of a channel, with what its fields say.
type Account struct {
	Channel, Instance string // no instance for web
	Values            map[string]string
}

// NewAccount reads <channel>[.<instance>]; ok is false for a channel that there is not.
func NewAccount(name string) (a Account, ok bool) {
	channel, instance, _ := strings.Cut(name, ".")
	_, ok = fields[channel]
	if instance == "" && channel != "web" {
		instance = DefaultInstance
	}
	return Account{channel, instance, map[string]string{}}, ok && (channel != "web" || instance == "")
}

// Name is channel and instance.
func (a Account) Name() string { return strings.TrimSuffix(a.Channel+"."+a.Instance, ".") }

// Complete gives fields without a value that of another, and returns the first one that
// is missing.
func (a Account) Complete() (missing Field, ok bool) {
	for _, f := range fields[a.Channel] {
		if a.Values[f.Key] == "" && f.Same != "" {
			a.Values[f.Key] = a.Values[f.Same]
		}
		if a.Values[f.Key] == "" && !f.Optional {
			return f, false
		}
	}
	return Field{}, true
}

// Has reports whether the account has a field of that key.
func (a Account) Has(key string) bool {
	return slices.ContainsFunc(fields[a.Channel], func(f Field) bool { return f.Key == key })
}
