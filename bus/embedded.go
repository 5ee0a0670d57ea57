package bus

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Embedded configures the server inside the process, `nats.embedded`.
type Embedded struct {
	Store  string  `yaml:"store,omitempty" json:"store,omitempty"`   // default DefaultStore
	Listen *string `yaml:"listen,omitempty" json:"listen,omitempty"` // default 127.0.0.1:4222; "": no port
	Sync   string  `yaml:"sync,omitempty" json:"sync,omitempty"`     // always (default) or an interval such as 2m
	Config string  `yaml:"config,omitempty" json:"config,omitempty"` // a nats-server configuration file, read first

	Anonymous string `yaml:"anonymous,omitempty" json:"anonymous,omitempty"` // AnonymousChannels (default), AnonymousNone, AnonymousAll
}

// What a connection without the token may do on the embedded server.
const (
	AnonymousChannels = "channels" // what a channel needs
	AnonymousNone     = "none"
	AnonymousAll      = "all"
)

const (
	// DefaultStore is the folder of the embedded server where none is configured.
	DefaultStore = "./data"

	// EmbeddedUser has all rights on the embedded server, with the token as password.
	EmbeddedUser = "agenthost"

	// ChannelAccount is the account of connections to the embedded server without the
	// token.
	ChannelAccount = "AGENTHOST_CHANNELS"

	defaultListen = "127.0.0.1:4222"
	defaultPort   = "4222"
)

// Address is where the server listens, or empty for nowhere.
func (e Embedded) Address() string {
	if e.Listen == nil {
		return defaultListen
	}
	return *e.Listen
}

// TokenFile is where the token of the embedded server is, which every command
// on this machine finds by itself.
func (e Embedded) TokenFile() string {
	return filepath.Join(cmp.Or(e.Store, DefaultStore), "token")
}

// Token returns the token in TokenFile, empty when the host has made none.
func (e Embedded) Token() (string, error) {
	data, err := os.ReadFile(e.TokenFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the token of the embedded server: %w; run this as the user that runs the host", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// AddressFile holds where the embedded server has listened last: commands send
// the token to no other server.
func (e Embedded) AddressFile() string { return filepath.Join(filepath.Dir(e.TokenFile()), "address") }

// Reached is where the server is reached: with port 0, any free one, where it has listened last.
func (e Embedded) Reached() string {
	address := e.Address()
	if _, port, err := net.SplitHostPort(address); err != nil || port != "0" {
		return address
	}
	known, err := os.ReadFile(e.AddressFile())
	if err != nil {
		return address
	}
	return strings.TrimSpace(string(known))
}

// ServesAt reports whether the embedded server of this store listens at url.
func (e Embedded) ServesAt(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	known, err := os.ReadFile(e.AddressFile())
	if errors.Is(err, fs.ErrPermission) {
		return true // reading the token says so
	}
	host, port, _ := net.SplitHostPort(strings.TrimSpace(string(known)))
	local := u.Hostname() == host || Loopback(u.Hostname()) || net.ParseIP(u.Hostname()).IsUnspecified()
	return err == nil && local && port == cmp.Or(u.Port(), defaultPort)
}

// Loopback reports whether only this machine reaches an address at host.
func Loopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }
