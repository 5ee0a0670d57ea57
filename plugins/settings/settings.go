// Package settings holds what the section plugins of a configuration may say, for
// each channel that comes with the product.
package settings

import "time"

// Plugins is `plugins:`. A channel with several accounts has them by name, which
// is the instance of its subjects.
type Plugins struct {
	Web      *Web                `yaml:"web,omitempty" json:"web,omitempty"`
	Webhook  map[string]Webhook  `yaml:"webhook,omitempty" json:"webhook,omitempty"`
	Telegram map[string]Telegram `yaml:"telegram,omitempty" json:"telegram,omitempty"`
	Discord  map[string]Discord  `yaml:"discord,omitempty" json:"discord,omitempty"`
	Slack    map[string]Slack    `yaml:"slack,omitempty" json:"slack,omitempty"`
	Matrix   map[string]Matrix   `yaml:"matrix,omitempty" json:"matrix,omitempty"`
	IRC      map[string]IRC      `yaml:"irc,omitempty" json:"irc,omitempty"`
	Email    map[string]Email    `yaml:"email,omitempty" json:"email,omitempty"`
	Exec     map[string]Exec     `yaml:"exec,omitempty" json:"exec,omitempty"` // the name is the channel
	// Own are the accounts of channels that a program brings along: by channel and
	// instance. Who reads a file puts the names of these channels there first; a
	// file may say no others.
	Own map[string]map[string]Own `yaml:",inline" json:"-"`
}

// Own is an account of a channel that a program brings along.
type Own struct {
	Account  `yaml:",inline"`
	Settings map[string]any `yaml:",inline" json:"-"` // for its plugins.Maker
}

// Account is what every account may say.
type Account struct {
	// Groups says which messages of a group are taken; empty: GroupsMention.
	Groups Groups `yaml:"groups,omitempty" json:"groups,omitempty"`
	// Stream shows an answer while it is written, where messages can be edited.
	Stream bool `yaml:"stream,omitempty" json:"stream,omitempty"`
	// MaxFile is how large a file may be, in and out; 0: DefaultMaxFile.
	MaxFile Bytes `yaml:"max_file,omitempty" json:"max_file,omitempty"`
	// DeliverFor is how long a reply is tried; 0: DefaultDeliverFor.
	DeliverFor time.Duration `yaml:"deliver_for,omitempty" json:"deliver_for,omitempty"`
}

// Defaults of an Account.
const (
	DefaultMaxFile    Bytes = 20 << 20
	DefaultDeliverFor       = 24 * time.Hour
)

// Groups says which messages of a group an agent gets.
type Groups string

// The values of Groups.
const (
	GroupsMention Groups = "mention" // those that mention it or reply to it
	GroupsAll     Groups = "all"
	GroupsOff     Groups = "off"
)

// Web is the chat page of this host's own listener, /chat.
type Web struct {
	MaxFile Bytes `yaml:"max_file,omitempty" json:"max_file,omitempty"`
	// Embed are the sites that may show the page in a frame, such as https://shop.test.
	Embed []string `yaml:"embed,omitempty" json:"embed,omitempty"`
}

// Webhook is a program that sends messages to /hooks/<instance>.
type Webhook struct {
	Account `yaml:",inline"`
	// Secret signs what comes and what goes: whsec_ and Base64, or any text.
	Secret string `yaml:"secret,omitempty" json:"secret,omitempty"`
	Scheme string `yaml:"scheme,omitempty" json:"scheme,omitempty"` // standard (default), github or token
	// Text makes the message from a body that is no envelope, with ${body.path} for
	// what stands there.
	Text     string        `yaml:"text,omitempty" json:"text,omitempty"`
	Reply    string        `yaml:"reply,omitempty" json:"reply,omitempty"` // none (default), response or callback
	Callback string        `yaml:"callback,omitempty" json:"callback,omitempty"`
	Wait     time.Duration `yaml:"wait,omitempty" json:"wait,omitempty"`         // reply: response; default 30 s
	MaxBody  Bytes         `yaml:"max_body,omitempty" json:"max_body,omitempty"` // default 1 MB
}

// Telegram is a bot.
type Telegram struct {
	Account `yaml:",inline"`
	Token   string `yaml:"token,omitempty" json:"token,omitempty"`
	API     string `yaml:"api,omitempty" json:"api,omitempty"` // default https://api.telegram.org
	// Webhook is the address at which Telegram reaches /hooks/telegram.<instance> of
	// this fleet; empty: the owner polls.
	Webhook string `yaml:"webhook,omitempty" json:"webhook,omitempty"`
}

// Discord is a bot.
type Discord struct {
	Account `yaml:",inline"`
	Token   string `yaml:"token,omitempty" json:"token,omitempty"`
	API     string `yaml:"api,omitempty" json:"api,omitempty"` // default https://discord.com
}

// Slack is an app in socket mode.
type Slack struct {
	Account  `yaml:",inline"`
	AppToken string `yaml:"app_token,omitempty" json:"app_token,omitempty"` // xapp-…
	BotToken string `yaml:"bot_token,omitempty" json:"bot_token,omitempty"` // xoxb-…
	API      string `yaml:"api,omitempty" json:"api,omitempty"`             // default https://slack.com/api/
}

// Matrix is a user of a homeserver.
type Matrix struct {
	Account    `yaml:",inline"`
	Homeserver string `yaml:"homeserver,omitempty" json:"homeserver,omitempty"`
	User       string `yaml:"user,omitempty" json:"user,omitempty"`
	Password   string `yaml:"password,omitempty" json:"password,omitempty"`
	Token      string `yaml:"token,omitempty" json:"token,omitempty"` // in place of user and password
}

// IRC is a nick on a network.
type IRC struct {
	Account  `yaml:",inline"`
	Server   string   `yaml:"server,omitempty" json:"server,omitempty"` // host:port
	TLS      *bool    `yaml:"tls,omitempty" json:"tls,omitempty"`       // default true
	CA       string   `yaml:"ca,omitempty" json:"ca,omitempty"`         // file of certificates that are trusted besides the system's
	Nick     string   `yaml:"nick,omitempty" json:"nick,omitempty"`
	User     string   `yaml:"user,omitempty" json:"user,omitempty"` // for SASL; default the nick
	Password string   `yaml:"password,omitempty" json:"password,omitempty"`
	Join     []string `yaml:"join,omitempty" json:"join,omitempty"` // its channels
	// Rate is how many lines go out in a second; default 1.
	Rate float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
}

// Email is a mailbox.
type Email struct {
	Account `yaml:",inline"`
	Address string     `yaml:"address,omitempty" json:"address,omitempty"` // From of what is sent
	Name    string     `yaml:"name,omitempty" json:"name,omitempty"`
	IMAP    MailServer `yaml:"imap,omitempty" json:"imap,omitzero"`
	SMTP    MailServer `yaml:"smtp,omitempty" json:"smtp,omitzero"`
	Folder  string     `yaml:"folder,omitempty" json:"folder,omitempty"` // default INBOX
}

// A MailServer is where mail is read or sent.
type MailServer struct {
	Server   string `yaml:"server,omitempty" json:"server,omitempty"` // host:port
	User     string `yaml:"user,omitempty" json:"user,omitempty"`
	Password string `yaml:"password,omitempty" json:"password,omitempty"`
	TLS      string `yaml:"tls,omitempty" json:"tls,omitempty"` // on (default), starttls or off
	CA       string `yaml:"ca,omitempty" json:"ca,omitempty"`
}

// Exec is a program that speaks JSON lines on its standard input and output.
type Exec struct {
	Account `yaml:",inline"`
	Command []string          `yaml:"command,omitempty" json:"command,omitempty"`
	Env     map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
}
