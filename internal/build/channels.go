package build

import (
	"fmt"
	"strings"

	"agenthost/config"
	"agenthost/plugins"
	"agenthost/plugins/discord"
	"agenthost/plugins/email"
	"agenthost/plugins/exec"
	"agenthost/plugins/irc"
	"agenthost/plugins/matrix"
	"agenthost/plugins/settings"
	"agenthost/plugins/slack"
	"agenthost/plugins/telegram"
	"agenthost/plugins/webhook"

	"github.com/rs/zerolog"
)

// channels is the one table of the channels that come with the product, by their
// keys in plugins.
var channels = map[string]func(e settings.Entry, log zerolog.Logger) (plugins.Channel, error){
	"discord": func(e settings.Entry, _ zerolog.Logger) (plugins.Channel, error) {
		return discord.New(e.Settings.(settings.Discord))
	},
	"email": func(e settings.Entry, _ zerolog.Logger) (plugins.Channel, error) {
		return email.New(e.Settings.(settings.Email))
	},
	"exec": func(e settings.Entry, log zerolog.Logger) (plugins.Channel, error) {
		return exec.New(e.Channel, e.Settings.(settings.Exec), log)
	},
	"irc": func(e settings.Entry, _ zerolog.Logger) (plugins.Channel, error) {
		return irc.New(e.Settings.(settings.IRC))
	},
	"matrix": func(e settings.Entry, _ zerolog.Logger) (plugins.Channel, error) {
		return matrix.New(e.Settings.(settings.Matrix))
	},
	"slack": func(e settings.Entry, _ zerolog.Logger) (plugins.Channel, error) {
		return slack.New(e.Settings.(settings.Slack))
	},
	"telegram": func(e settings.Entry, _ zerolog.Logger) (plugins.Channel, error) {
		return telegram.New(e.Settings.(settings.Telegram))
	},
	"webhook": func(e settings.Entry, _ zerolog.Logger) (plugins.Channel, error) {
		return webhook.New(e.Settings.(settings.Webhook))
	},
}

// Channel makes the channel of an account; own are those of the program. Making one
// starts nothing.
func Channel(e settings.Entry, own map[string]plugins.Maker, log zerolog.Logger) (plugins.Channel, error) {
	if mine, ok := e.Settings.(settings.Own); ok {
		return own[e.Channel](mine.Settings)
	}
	section, _, _ := strings.Cut(e.Key, ".")
	construct, ok := channels[section]
	if !ok {
		return nil, fmt.Errorf("channel %s: the host has none of that name", section)
	}
	return construct(e, log)
}

// Accounts are those of a configuration that have a courier, by their names in
// subjects. The chat page has none: every host serves it.
func Accounts(cfg *config.Config) map[string]settings.Entry {
	table := map[string]settings.Entry{}
	for _, e := range cfg.Plugins.Entries() {
		if e.Channel != "web" {
			table[e.Name()] = e
		}
	}
	return table
}

// Hearers are the agents that are bound to an account, in the order of the
// configuration.
func Hearers(cfg *config.Config, e settings.Entry) []string {
	var ids []string
	for _, a := range cfg.Agents {
		for _, b := range a.Channels {
			if b.Channel == e.Channel && config.Takes(b, e.Instance) {
				ids = append(ids, a.ID)
				break
			}
		}
	}
	return ids
}
