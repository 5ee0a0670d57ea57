package config_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/config"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

func TestPluginsAreTyped(t *testing.T) {
	t.Setenv("SHOP", "from the environment")
	t.Setenv("ISSUE", "never")
	c := parse(t, `plugins:
  web: {max_file: 1MB}
  webhook:
    shop: {secret: "${SHOP}", text: "${body.issue.title} by $${ISSUE}", reply: response, wait: 5s, max_body: 64KB}
  irc: {home: {server: "irc.test:6697", nick: ana, join: ["#help"], tls: false, rate: 2.5, groups: all}}
  exec: {mybot: {command: [./mybot, -v], env: {K: v}, deliver_for: 1h}}
`)
	no := false
	want := settings.Plugins{
		Web: &settings.Web{MaxFile: 1 << 20},
		Webhook: map[string]settings.Webhook{"shop": {
			Secret: "from the environment", Text: "${body.issue.title} by $${ISSUE}", Reply: "response", Wait: 5 * time.Second, MaxBody: 64 << 10,
		}},
		IRC:  map[string]settings.IRC{"home": {Server: "irc.test:6697", Nick: "ana", Join: []string{"#help"}, TLS: &no, Rate: 2.5, Account: settings.Account{Groups: "all"}}},
		Exec: map[string]settings.Exec{"mybot": {Command: []string{"./mybot", "-v"}, Env: map[string]string{"K": "v"}, Account: settings.Account{DeliverFor: time.Hour}}},
	}
	if diff := cmp.Diff(want, c.Plugins); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
}

func TestPluginFaults(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string // without the name of the file
	}{
		"unknown channel":         {"plugins: {telegramm: {}}\n", []string{`1:11: unknown key "telegramm"; did you mean "telegram"?`}},
		"unknown key":             {"plugins: {irc: {a: {server: 'x:1', nick: b, joins: []}}}\n", []string{`1:45: unknown key "joins"; did you mean "join"?`}},
		"instance":                {"plugins: {telegram: {Sales: {token: x}}}\n", []string{`1:22: account "Sales": want 1 to 63 of a-z, 0-9, _ and -`}},
		"name of an exec plugin":  {"plugins: {exec: {My bot: {command: [x]}}}\n", []string{`1:18: channel "My bot": want 1 to 63 of a-z, 0-9, _ and -`}},
		"exec of a known channel": {"plugins: {exec: {irc: {command: [x]}}}\n", []string{`1:18: channel "irc" comes with agenthost; want another name`}},
		"same consumer": {"plugins: {exec: {slack-a: {command: [x]}}, slack: {a: {app_token: x, bot_token: y}}}\n", []string{
			"1:18: slack.a and slack-a have the same consumer, plugin-slack-a; want another name for one of them",
		}},
		"nothing that logs in": {`plugins:
  telegram: {a: {}}
  discord: {a: {token: ""}}
  slack: {a: {app_token: x}}
  matrix: {a: {user: u}}
  irc: {a: {nick: n}}
  email: {a: {address: "a@b", imap: {server: "x:1", user: u, password: p}}}
  exec: {a: }
  webhook: {a: }
`, []string{
			"2:17: account telegram.a has no token; add token:, the token that @BotFather gave",
			"3:24: account discord.a has no token; add token:, the token of the bot, from discord.com/developers",
			"4:14: account slack.a has no bot_token; add bot_token:, the bot token of the installed app, xoxb-…",
			"5:15: account matrix.a has no homeserver; add homeserver:, the address of the homeserver, https://…",
			"5:15: account matrix.a has no password; add password:, the password of the user, or add token in its place",
			"6:12: account irc.a has no server; add server:, host:port, such as irc.libera.chat:6697",
			"7:14: account email.a has no smtp.server; add smtp.server:, host:port, such as smtp.shop.example:465",
			"8:13: channel a has no command; add command:, the program and its arguments, such as [./mybot]",
			"9:16: account webhook.a has no secret; add secret:, the key that the sender signs with, such as whsec_… or any text",
		}},
		"webhook": {`plugins:
  webhook:
    a: {secret: whsec_hunter2, scheme: svix, reply: callback}
    b: {secret: x, reply: later, callback: "ftp://x", wait: 1s, text: "${body.} ${X}", groups: some}
`, []string{
			"3:8: account webhook.a has no callback; add callback:, where replies are sent, https://…",
			"3:17: secret: want Base64 behind whsec_, or a text that begins otherwise",
			`3:40: scheme "svix": want standard, github or token`,
			`4:27: reply "later": want none, response or callback`,
			`4:44: callback "ftp://x": it is used with reply: callback; add that, or take it out`,
			`4:44: callback "ftp://x": want http://… or https://…`,
			`4:61: wait "1s": it is used with reply: response; add that, or take it out`,
			`4:71: text "${body.} ${X}": want ${body} or ${body.path} with its }, such as ${body.issue.title}; $${ for the two characters themselves`,
			`4:96: groups "some": want mention, all or off`,
		}},
		"sizes": {"plugins: {web: {max_file: 20XB}}\n", []string{`1:27: size "20XB": want a number of bytes, or one with KB, MB or GB, such as 20MB`}},
		"values": {`plugins:
  matrix: {a: {homeserver: x, token: t, password: p}}
  irc: {a: {server: x, nick: "a b", join: [help], ca: none.pem}}
  email: {a: {address: Ana <a@b>, imap: {server: "x:1", tls: maybe}, smtp: {server: "x:y"}}}
`, []string{
			"2:28: homeserver \"x\": want http://… or https://…",
			"2:38: token: it stands in place of user and password; keep one of them",
			`3:21: server "x": want host:port, such as irc.libera.chat:6697`,
			`3:30: nick "a b": want a nick without spaces and , * ? ! @ :`,
			`3:44: join "help": want the name of a channel, such as #help`,
			"3:55: ca" + noFile,
			`4:24: address "Ana <a@b>": want an address such as help@shop.example`,
			"4:41: account email.a has no imap.password; add imap.password:, the password of the user",
			"4:41: account email.a has no imap.user; add imap.user:, whose mail is read",
			`4:62: tls "maybe": want on, starttls or off`,
			`4:85: server "x:y": want host:port, such as smtp.shop.example:465`,
		}},
		"requests without HTTP": {"http: {listen: ''}\nplugins:\n  web: {}\n  webhook: {a: {secret: x}}\n  telegram: {a: {token: x}, b: {token: x, webhook: 'https://x'}}\n", []string{
			"3:3: channel web receives requests, and http.listen is empty; set it, such as 127.0.0.1:8080",
			"4:13: account webhook.a receives requests, and http.listen is empty; set it, such as 127.0.0.1:8080",
			"5:29: account telegram.b receives requests, and http.listen is empty; set it, such as 127.0.0.1:8080",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("c.yaml", []byte(tt.text))
			got := problems(t, err)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "c.yaml:")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBindingsAndAccounts(t *testing.T) {
	const accounts = "plugins: {telegram: {sales: {token: x}, help: {token: y}}, exec: {mybot: {command: [z]}}}\n"
	tests := map[string]struct {
		channels string
		want     []string // without the name of the file
	}{
		"all":            {"mybot, {channel: telegram, instance: '*'}", nil},
		"each":           {"mybot, {channel: telegram, instance: sales}, {channel: telegram, instance: help}", nil},
		"outside":        {"demo, {channel: irc, instance: x}, mybot, {channel: telegram, instance: '*'}", nil},
		"other instance": {"mybot, {channel: telegram, instance: sals}, {channel: telegram, instance: help}", []string{`2:66: warning: plugins.telegram has no account "sals"; did you mean "sales"?`, "3:22: warning: no agent is bound to telegram.sales, so its messages get no answer; add {channel: telegram, instance: sales} to channels of an agent"}},
		"no instance":    {"mybot, telegram, {channel: telegram, instance: '*'}", []string{`2:36: warning: a binding without instance takes nothing of the accounts of telegram; add instance: help or sales, or "*"`}},
		"an instance":    {"{channel: mybot, instance: x}, {channel: telegram, instance: '*'}", []string{"2:29: warning: channel mybot has no instances; take instance out", "3:67: warning: no agent is bound to mybot, so its messages get no answer; add mybot to channels of an agent"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := parse(t, "models: {m: {provider: echo}}\nagents: [{id: a, channels: ["+tt.channels+"]}]\n"+accounts)
			var got []string
			for _, w := range c.Warnings {
				got = append(got, strings.TrimPrefix(w.Warning(), "agenthost.yaml:"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnChannels(t *testing.T) {
	const text = "plugins: {pager: {night: {groups: all, number: 7, rooms: [a, {b: ~}], since: 2026-01-01}, day: }}\n"
	if _, err := config.Parse("c.yaml", []byte(text)); err == nil {
		t.Error("a channel that no program brings along was taken")
	}
	own := config.Extensions{Channels: []string{"pager", "fax"}}
	c, err := own.Parse("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]settings.Own{"pager": {
		"night": {Account: settings.Account{Groups: "all"}, Settings: map[string]any{"number": 7, "rooms": []any{"a", map[string]any{"b": nil}}, "since": "2026-01-01"}},
		"day":   {},
	}}
	if diff := cmp.Diff(want, c.Plugins.Own); diff != "" {
		t.Errorf("own (-want +got):\n%s", diff)
	}
	data, err := json.Marshal(c.Plugins)
	if want := `{"pager":{"day":{},"night":{"groups":"all","number":7,"rooms":["a",{"b":null}],"since":"2026-01-01"}}}`; err != nil || string(data) != want {
		t.Errorf("got %s and error %v, want %s", data, err, want)
	}
	if _, err := own.Parse("c.yaml", []byte("plugins: {pagr: {}}")); err == nil || !strings.Contains(err.Error(), `did you mean "pager"?`) {
		t.Errorf("got %v", err)
	}
}
