// Package irc is a nick on an IRC network.
//
// Where the server offers them it uses labels and message ids, which say that a
// line was taken, and the history, which has the lines that were said while the
// connection was lost. Elsewhere the answer to a PING stands for the first, and
// nothing for the second.
package irc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"agenthost/plugins"
	"agenthost/plugins/settings"
)

const (
	defaultRate = 1 // lines in a second
	burst       = 4
	dialWithin  = 30 * time.Second
)

// A Channel is one nick on one network. Make it with New.
type Channel struct {
	settings settings.IRC
	host     string
	tls      *tls.Config // nil: in the clear
	pace     *rate.Limiter
	live     atomic.Pointer[connection] // nil: not logged in
}

// An inbox is what a Channel needs of plugins.Inbox.
type inbox interface {
	Connected(as string)
	Take(ctx context.Context, m plugins.Received) error
	Note(ctx context.Context, name string) ([]byte, error)
	SetNote(ctx context.Context, name string, value []byte) error
}

// New makes the channel of an account.
func New(s settings.IRC) (*Channel, error) {
	host, port, err := net.SplitHostPort(s.Server)
	if err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("server %q: want host:port, such as irc.libera.chat:6697", s.Server)
	}
	if !isNick(s.Nick) {
		return nil, fmt.Errorf("nick %q: want letters, digits and -_[]{}\\|`^, no digit first", s.Nick)
	}
	if s.Rate < 0 {
		return nil, fmt.Errorf("rate %v: want lines in a second, above 0", s.Rate)
	}
	for _, name := range s.Join {
		if !isTarget(name) || strings.IndexByte(channelPrefixes, name[0]) < 0 {
			return nil, fmt.Errorf("join %q: want a channel, such as #room", name)
		}
	}
	if s.User == "" {
		s.User = s.Nick
	}
	if strings.ContainsAny(s.User+s.Password, "\r\n\x00") {
		return nil, errors.New("user and password must not contain line breaks")
	}
	if s.Rate == 0 {
		s.Rate = defaultRate
	}
	c := &Channel{settings: s, host: host, pace: rate.NewLimiter(rate.Limit(s.Rate), burst)}
	if s.TLS == nil || *s.TLS {
		if c.tls, err = tlsConfig(host, s.CA); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// tlsConfig trusts the system's certificates and those of a file.
func tlsConfig(host, file string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if file == "" {
		return config, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	if config.RootCAs, err = x509.SystemCertPool(); err != nil {
		config.RootCAs = x509.NewCertPool()
	}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca: %s holds no certificate in PEM", file)
	}
	return config, nil
}

func (c *Channel) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	if c.tls == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", c.settings.Server)
	}
	return (&tls.Dialer{Config: c.tls}).DialContext(ctx, "tcp", c.settings.Server)
}

// Limits has the worst case: the longest name that a server shows before a line,
// and the longest target.
func (c *Channel) Limits() plugins.Limits {
	return plugins.Limits{
		Text:    lineLength - overhead(longestPrefix(c.settings.Nick), longestTarget),
		Measure: func(text string) int { return len(text) },
		Render:  dialect.Render,
		Line:    true,
	}
}

// Typing does nothing: the limits say that IRC has no such thing.
func (c *Channel) Typing(context.Context, plugins.Place) error { return nil }

// Preview does nothing: a line that was said cannot be changed.
func (c *Channel) Preview(context.Context, plugins.Place, string, string) (string, error) {
	return "", nil
}

// Check logs in once, and says under which name.
func (c *Channel) Check(ctx context.Context) (string, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.close()
	stop := context.AfterFunc(ctx, conn.close)
	defer stop()
	if err := conn.login(); err != nil {
		return "", err
	}
	return conn.as(), conn.quit()
}

// Run is logged in until ctx ends or the connection is lost.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error { return c.run(ctx, in) }

func (c *Channel) run(ctx context.Context, in inbox) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	stop := context.AfterFunc(ctx, func() {
		_ = conn.write("QUIT")
		conn.close()
	})
	defer stop()
	if err := conn.login(); err != nil {
		return endedBy(ctx, err)
	}
	stop()
	s := newSession(conn, in, c.pace)
	c.live.Store(conn)
	defer c.live.CompareAndSwap(conn, nil)
	err = s.run(ctx)
	if ctx.Err() != nil {
		_ = conn.quit() // the nick is free for the next login
	}
	return endedBy(ctx, err)
}

// endedBy prefers the reason for which ctx has ended to the error that follows.
func endedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
