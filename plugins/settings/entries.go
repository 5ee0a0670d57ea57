package settings

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Settings are those of one account.
type Settings interface {
	// Common is what every account may say.
	Common() Account
	// Check yields what is wrong: the key below the account, and what would be right.
	// Of a key that is needed and absent it yields what it would hold.
	Check() iter.Seq2[string, string]
	// Receives reports whether the platform sends HTTP requests to the host.
	Receives() bool
}

// Common returns a itself.
func (a Account) Common() Account { return a }

// Receives is false: most channels connect to their platform.
func (Account) Receives() bool { return false }

// Common is an Account with the limit of the page.
func (w Web) Common() Account { return Account{MaxFile: w.MaxFile} }

// Receives is true: browsers load the page from the host.
func (Web) Receives() bool { return true }

// Receives is true.
func (Webhook) Receives() bool { return true }

// Receives reports whether Telegram calls the host.
func (t Telegram) Receives() bool { return t.Webhook != "" }

// An Entry is one account of the section.
type Entry struct {
	Channel  string
	Instance string // empty for a channel with one account
	Key      string // below plugins, such as telegram.sales or exec.mybot
	Settings Settings
}

// Name is channel and instance as subjects have them, such as telegram.sales.
func (e Entry) Name() string { return strings.TrimSuffix(e.Channel+"."+e.Instance, ".") }

// Hook is the path below /hooks/ of an account that receives requests.
func (e Entry) Hook() string {
	if e.Channel == "webhook" {
		return e.Instance
	}
	return e.Name()
}

// Channels are those that come with the product, exec apart: there each name is a
// channel.
func Channels() []string {
	return []string{"discord", "email", "irc", "matrix", "slack", "telegram", "web", "webhook"}
}

// Entries are all accounts, in the order of their names.
func (p Plugins) Entries() []Entry {
	list := slices.Concat(
		entries("discord", p.Discord), entries("email", p.Email), entries("irc", p.IRC), entries("matrix", p.Matrix),
		entries("slack", p.Slack), entries("telegram", p.Telegram), entries("webhook", p.Webhook),
	)
	if p.Web != nil {
		list = append(list, Entry{Channel: "web", Key: "web", Settings: *p.Web})
	}
	for name, e := range p.Exec {
		list = append(list, Entry{Channel: name, Key: "exec." + name, Settings: e})
	}
	for channel, accounts := range p.Own {
		list = append(list, entries(channel, accounts)...)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Instance, b.Instance))
	})
	return list
}

func entries[S Settings](channel string, accounts map[string]S) []Entry {
	var list []Entry
	for instance, s := range accounts {
		list = append(list, Entry{Channel: channel, Instance: instance, Key: channel + "." + instance, Settings: s})
	}
	return list
}
