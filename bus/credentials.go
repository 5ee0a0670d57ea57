package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Identified reports whether the configuration itself says who connects.
func (c Config) Identified() bool {
	return c.User != "" || c.Creds != "" || c.NKey != "" || c.Token != ""
}

// credentials are the options that say who connects. As with the nats command
// a user goes before creds, and creds before an nkey. Files are read now, to
// report what is wrong with them, and again whenever the connection is made.
func (c Config) credentials() ([]nats.Option, error) {
	if !c.Identified() {
		return nil, nil
	}
	opts := []nats.Option{anonymous}
	switch {
	case c.User != "":
		opts = append(opts, nats.UserInfo(c.User, c.Password))
	case c.Creds != "":
		if err := checkCreds(c.Creds); err != nil {
			return nil, err
		}
		opts = append(opts, nats.UserCredentials(c.Creds))
	case c.NKey != "":
		nkey, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return nil, fmt.Errorf("read nats.nkey %q: %w", c.NKey, err)
		}
		opts = append(opts, nkey)
	}
	if c.Token != "" {
		opts = append(opts, nats.Token(c.Token))
	}
	return opts, nil
}

// anonymous takes the credentials of a context away, for ours to take their place.
func anonymous(o *nats.Options) error {
	o.User, o.Password, o.Token, o.Nkey = "", "", "", ""
	o.UserJWT, o.SignatureCB = nil, nil
	return nil
}

func checkCreds(file string) error {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err == nil {
		_, err = nkeys.ParseDecoratedJWT(data)
	}
	if err == nil {
		_, err = nkeys.ParseDecoratedNKey(data)
	}
	if err != nil {
		return fmt.Errorf("read credentials %q: %w", file, err)
	}
	return nil
}

func (t TLS) options() ([]nats.Option, error) {
	var opts []nats.Option
	if t.CA != "" {
		opts = append(opts, nats.RootCAs(t.CA))
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("nats.tls: cert and key go together, and one of them is not set")
	}
	if t.Cert != "" {
		opts = append(opts, nats.ClientCert(t.Cert, t.Key))
	}
	for _, opt := range opts {
		if err := opt(&nats.Options{}); err != nil { // the option reads its files
			return nil, fmt.Errorf("read nats.tls: %w", err)
		}
	}
	return opts, nil
}

// WithEnv fills what is empty in c from the NATS_* variables that the nats
// command knows. An address in c, by URL or context, keeps those of the
// environment away, and so does an identity: the credentials of one place are
// never sent to another because half of each was set.
func (c Config) WithEnv(getenv func(string) string) Config {
	identified := c.Identified()
	if !c.External() {
		c.URL, c.Context = getenv("NATS_URL"), getenv("NATS_CONTEXT")
	}
	if !identified {
		c.User, c.Token = getenv("NATS_USER"), getenv("NATS_TOKEN")
		c.Creds, c.NKey = getenv("NATS_CREDS"), getenv("NATS_NKEY")
	}
	if c.User != "" {
		c.Password = cmp.Or(c.Password, getenv("NATS_PASSWORD"))
	}
	c.TLS.CA = cmp.Or(c.TLS.CA, getenv("NATS_CA"))
	if c.TLS.Cert == "" && c.TLS.Key == "" {
		c.TLS.Cert, c.TLS.Key = getenv("NATS_CERT"), getenv("NATS_KEY")
	}
	return c
}

// WithToken adds the token of the embedded server to c, unless c says who
// connects or the host has made no token.
func (c Config) WithToken() (Config, error) {
	if c.Identified() {
		return c, nil
	}
	token, err := c.Embedded.Token()
	if err == nil && token != "" {
		c.User, c.Password = EmbeddedUser, token
	}
	return c, err
}

// LogInHint is what helps a connection without the token.
const LogInHint = "without the token of the embedded server a connection has the rights of a channel only: as the user of the host, run this in its folder or name its configuration with -c; or make a NATS context there with \"agenthost nats-context\" and use it here with --context agenthost"

// Anonymous reports whether nc is connected to the embedded server of a host
// without its token, so that it has the rights of a channel only.
func Anonymous(ctx context.Context, nc *nats.Conn) bool {
	if o := nc.Opts; o.User != "" || o.Token != "" || o.Nkey != "" || o.UserJWT != nil || o.TokenHandler != nil || o.UserInfo != nil {
		return false
	}
	if u, err := url.Parse(nc.ConnectedUrl()); err == nil && u.User != nil {
		return false
	}
	answer, err := nc.RequestWithContext(ctx, "$SYS.REQ.USER.INFO", nil)
	if err != nil {
		return false
	}
	var info struct {
		Data struct {
			Account string `json:"account"`
		} `json:"data"`
	}
	return json.Unmarshal(answer.Data, &info) == nil && info.Data.Account == ChannelAccount
}
