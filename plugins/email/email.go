// Package email is a mailbox: mail comes by IMAP and goes by SMTP.
//
// How far the mailbox is read is kept as a note, so that what has come while no
// host was there is read later. What has come before the first day is not read.
package email

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"os"
	"strings"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/settings"
)

const (
	dialWithin = 30 * time.Second
	// callWithin is how long a mail may take to be sent.
	callWithin = 5 * time.Minute
)

// The values of settings.MailServer.TLS.
const (
	tlsOn    = "on"
	startTLS = "starttls"
	tlsOff   = "off"
)

// A Channel is one mailbox. Make it with New.
type Channel struct {
	settings settings.Email
	domain   string // of its address
	imap     server
	smtp     server
	lookup   func(domain string) ([]string, error) // TXT records; nil: DNS
	known    known
	failed   failed
}

// A server is where mail is read or sent.
type server struct {
	settings.MailServer
	tls *tls.Config // nil: in the clear
}

// An inbox is what a Channel needs of plugins.Inbox.
type inbox interface {
	Connected(as string)
	Take(ctx context.Context, m plugins.Received) error
	Refused(m plugins.Received, why error)
	MaxFile() int64
	Note(ctx context.Context, name string) ([]byte, error)
	SetNote(ctx context.Context, name string, value []byte) error
}

// New makes the channel of an account.
func New(s settings.Email) (*Channel, error) {
	address, err := mail.ParseAddress(s.Address)
	if err != nil || address.Name != "" {
		return nil, fmt.Errorf("address %q: want one such as agent@shop.test", s.Address)
	}
	s.Address = strings.ToLower(address.Address)
	if s.Folder == "" {
		s.Folder = "INBOX"
	}
	if s.MaxFile == 0 {
		s.MaxFile = settings.DefaultMaxFile
	}
	c := &Channel{settings: s, domain: domainOf(s.Address), known: known{mails: map[mailKey]origin{}}}
	if c.imap, err = newServer("imap", s.IMAP); err != nil {
		return nil, err
	}
	if s.IMAP.User == "" {
		return nil, errors.New("imap: user is missing")
	}
	if c.smtp, err = newServer("smtp", s.SMTP); err != nil {
		return nil, err
	}
	return c, nil
}

func newServer(name string, s settings.MailServer) (server, error) {
	host, port, err := net.SplitHostPort(s.Server)
	if err != nil || host == "" || port == "" {
		return server{}, fmt.Errorf("%s: server %q: want host:port", name, s.Server)
	}
	switch s.TLS {
	case "", tlsOn, startTLS:
	case tlsOff:
		return server{MailServer: s}, nil
	default:
		return server{}, fmt.Errorf("%s: tls %q: want on, starttls or off", name, s.TLS)
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return server{}, fmt.Errorf("%s: ca: %w", name, err)
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return server{}, fmt.Errorf("%s: ca: %s holds no certificate in PEM", name, s.CA)
		}
	}
	return server{s, config}, nil
}

// dial connects, with TLS where that comes first.
func (s server) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	var conn net.Conn
	var err error
	if s.tls == nil || s.TLS == startTLS {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", s.Server)
	} else {
		conn, err = (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.Server)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.Server, err)
	}
	return conn, nil
}

// Limits of a mail are those of its server, which says them when it is too late to
// split. Text stays Markdown: it is sent both as text and as HTML.
func (c *Channel) Limits() plugins.Limits {
	return plugins.Limits{File: int64(c.settings.MaxFile)}
}

// Typing does nothing: the limits say that mail has no such thing.
func (c *Channel) Typing(context.Context, plugins.Place) error { return nil }

// Preview does nothing: a mail that is sent cannot be changed.
func (c *Channel) Preview(context.Context, plugins.Place, string, string) (string, error) {
	return "", nil
}

// Check logs in to both servers once, and says as which address.
func (c *Channel) Check(ctx context.Context) (string, error) {
	box, err := c.open(ctx, nil)
	if err != nil {
		return "", err
	}
	box.close()
	client, err := c.login(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	_ = client.Quit()
	return c.settings.Address, nil
}

// Run reads the mailbox until ctx ends or the connection is lost.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error { return c.run(ctx, in) }

func domainOf(address string) string {
	return strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
}
