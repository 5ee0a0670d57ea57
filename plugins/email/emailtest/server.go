// Package emailtest is a mailbox for tests: an IMAP server, and an SMTP server that keeps
// what is sent.
package emailtest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// The account.
const (
	Address  = "bot@shop.test"
	User     = "bot"
	Password = "pw"
)

// A Server is both servers: a mailbox, and what was sent. They end with the test.
type Server struct {
	IMAP, SMTP string // their addresses

	t      testing.TB
	user   *imapmemserver.User
	tls    *tls.Config
	atOnce bool

	mu     sync.Mutex
	conns  []*connection
	sent   [][]byte
	refuse *smtp.SMTPError // the next mail
	broken map[imap.UID]bool
	mends  bool // once it gives a mail that is not broken
}

// A door is a listener whose connections can be cut.
type door struct {
	net.Listener
	p *Server
}

func (d door) Accept() (net.Conn, error) {
	accepted, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &connection{Conn: accepted}
	d.p.mu.Lock()
	d.p.conns = append(d.p.conns, conn)
	d.p.mu.Unlock()
	return conn, nil
}

// A connection can lose what the server writes.
type connection struct {
	net.Conn
	silent atomic.Bool
}

func (c *connection) Write(data []byte) (int, error) {
	if c.silent.Load() {
		return len(data), nil
	}
	return c.Conn.Write(data)
}

// New starts them without TLS.
func New(t testing.TB) *Server {
	t.Helper()
	return NewTLS(t, nil, false)
}

// NewTLS takes TLS: from the first byte on, or by STARTTLS.
func NewTLS(t testing.TB, config *tls.Config, atOnce bool) *Server {
	t.Helper()
	return start(t, config, atOnce, imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIdle: {}})
}

// NewWithoutIdle is an IMAP server that has to be asked for new mail.
func NewWithoutIdle(t testing.TB) *Server {
	t.Helper()
	return start(t, nil, false, imap.CapSet{imap.CapIMAP4rev1: {}})
}

func start(t testing.TB, config *tls.Config, atOnce bool, caps imap.CapSet) *Server {
	t.Helper()
	p := &Server{t: t, atOnce: atOnce, tls: config, user: imapmemserver.NewUser(User, Password)}
	if err := p.user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	mailboxes := imapmemserver.New()
	mailboxes.AddUser(p.user)
	in := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return session{mailboxes.NewSession(), p}, nil, nil
		},
		Caps:         caps,
		InsecureAuth: config == nil,
		TLSConfig:    config,
	})
	out := smtp.NewServer(p)
	out.Domain, out.AllowInsecureAuth, out.TLSConfig = "shop.test", config == nil, config
	p.IMAP = p.listen(func(l net.Listener) { _ = in.Serve(l) }, in)
	p.SMTP = p.listen(func(l net.Listener) { _ = out.Serve(l) }, out)
	return p
}

// A session tells of a mail that came just before IDLE, as most servers do.
type session struct {
	imapserver.Session
	p *Server
}

func (s session) Idle(w *imapserver.UpdateWriter, stop <-chan struct{}) error {
	if err := s.Poll(w, true); err != nil {
		return err
	}
	return s.Session.Idle(w, stop)
}

// Fetch does not give what is damaged.
func (s session) Fetch(w *imapserver.FetchWriter, mails imap.NumSet, options *imap.FetchOptions) error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if uids, ok := mails.(imap.UIDSet); ok && len(options.BodySection) > 0 {
		for uid := range s.p.broken {
			if uids.Contains(uid) {
				return &imap.Error{Type: imap.StatusResponseTypeNo, Text: "internal error"}
			}
		}
		if s.p.mends {
			s.p.broken = nil
		}
	}
	return s.Session.Fetch(w, mails, options)
}

// Damage has the server not give a mail any more, by its UID.
func (p *Server) Damage(uid imap.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil {
		p.broken = map[imap.UID]bool{}
	}
	p.broken[uid] = true
}

// Mends has the server give all mails again once it gives one, as when its storage is back.
func (p *Server) Mends() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mends = true
}

func (p *Server) listen(serve func(net.Listener), server io.Closer) string {
	p.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(p.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	var listener net.Listener = door{l, p}
	if p.tls != nil && p.atOnce {
		listener = tls.NewListener(listener, p.tls)
	}
	done := make(chan struct{})
	go func() { defer close(done); serve(listener) }()
	p.t.Cleanup(func() { server.Close(); l.Close(); p.Cut(); <-done })
	return l.Addr().String()
}

// Cut ends all connections.
func (p *Server) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

// Silence loses what the servers write to those that are connected, as a network that
// drops packets does.
func (p *Server) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.silent.Store(true)
	}
}

// RefuseNext lets the next mail be refused.
func (p *Server) RefuseNext(err *smtp.SMTPError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = err
}

// Arrive puts a mail into the mailbox.
func (p *Server) Arrive(mail string) {
	p.t.Helper()
	body := strings.ReplaceAll(mail, "\n", "\r\n")
	if _, err := p.user.Append("INBOX", bytes.NewReader([]byte(body)), &imap.AppendOptions{Time: time.Now()}); err != nil {
		p.t.Error(err)
	}
}

// Mails are those that were sent.
func (p *Server) Mails() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// NewSession implements smtp.Backend.
func (p *Server) NewSession(*smtp.Conn) (smtp.Session, error) { return &envelope{p: p}, nil }

type envelope struct {
	p       *Server
	allowed bool
}

func (e *envelope) AuthMechanisms() []string { return []string{sasl.Plain} }

func (e *envelope) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, word string) error {
		if user != User || word != Password {
			return smtp.ErrAuthFailed
		}
		e.allowed = true
		return nil
	}), nil
}

func (e *envelope) Mail(from string, _ *smtp.MailOptions) error {
	e.p.mu.Lock()
	defer e.p.mu.Unlock()
	if refuse := e.p.refuse; refuse != nil {
		e.p.refuse = nil
		return refuse
	}
	if !e.allowed || from != Address {
		return errors.New("not allowed")
	}
	return nil
}

func (e *envelope) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (e *envelope) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	e.p.mu.Lock()
	defer e.p.mu.Unlock()
	e.p.sent = append(e.p.sent, data)
	return nil
}

func (e *envelope) Reset()        {}
func (e *envelope) Logout() error { return nil }
