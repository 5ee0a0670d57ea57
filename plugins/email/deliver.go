package email

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strings"

	"agenthost/plugins"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Deliver sends one mail. Its Message-Id is made from the key of the message, so that
// a mail that is sent twice is one for the reader.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	to, err := mail.ParseAddress(m.To)
	if err != nil {
		return "", plugins.Permanent(fmt.Errorf("%q is no address", m.To))
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	m.ReplyTo = answeredBy(m)
	answered, err := c.lookUp(ctx, mailKey{m.ReplyTo, strings.ToLower(to.Address)})
	if err != nil {
		return "", fmt.Errorf("look up the mail that is answered: %w", err)
	}
	if answered.replyTo != "" {
		to.Address = answered.replyTo
	}
	id := messageID(m.Key, c.domain)
	body, err := c.compose(m, id, to, answered.subject)
	if err != nil {
		return "", plugins.Permanent(fmt.Errorf("write mail: %w", err))
	}
	return id, c.send(ctx, to.Address, body)
}

// answeredBy is the id of the mail that is answered. On chats the first part of a reply alone
// refers to it; here each part is a mail, which has its subject and goes where the first went.
func answeredBy(m plugins.Message) string {
	if m.ReplyTo == "" && m.Part > 1 && m.Reply != nil {
		return m.Reply.InReplyTo
	}
	return m.ReplyTo
}

// login connects to the server that sends mail.
func (c *Channel) login(ctx context.Context) (*smtp.Client, error) {
	conn, err := c.smtp.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var client *smtp.Client
	err = c.smtp.within(answerWithin, conn, func() (err error) { client, err = c.enter(conn); return err })
	if err != nil {
		conn.Close()
		return nil, err
	}
	return client, nil
}

func (c *Channel) enter(conn net.Conn) (client *smtp.Client, err error) {
	if c.smtp.TLS == startTLS {
		if client, err = smtp.NewClientStartTLS(conn, c.smtp.tls); err != nil {
			return nil, fmt.Errorf("STARTTLS with %s: %w", c.smtp.Server, err)
		}
	} else {
		client = smtp.NewClient(conn)
	}
	return client, c.authenticate(client)
}

func (c *Channel) authenticate(client *smtp.Client) error {
	if err := client.Noop(); err != nil { // it greets first
		return fmt.Errorf("greet %s: %w", c.smtp.Server, err)
	}
	if c.smtp.User == "" {
		return nil
	}
	way := sasl.NewPlainClient("", c.smtp.User, c.smtp.Password)
	if !client.SupportsAuth(sasl.Plain) && client.SupportsAuth(sasl.Login) {
		way = sasl.NewLoginClient(c.smtp.User, c.smtp.Password)
	}
	err := client.Auth(way)
	if answer, ok := errors.AsType[*smtp.SMTPError](err); ok && !answer.Temporary() {
		return plugins.NoLogin(fmt.Errorf("%s does not let %s in: %w; check user and password", c.smtp.Server, c.smtp.User, err))
	}
	if err != nil {
		return fmt.Errorf("log in to %s: %w", c.smtp.Server, err)
	}
	return nil
}

func (c *Channel) send(ctx context.Context, to string, body []byte) error {
	client, err := c.login(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	if most, ok := client.MaxMessageSize(); ok && most > 0 && len(body) > most {
		return plugins.Permanent(fmt.Errorf("the mail has %d bytes, %s takes %d", len(body), c.smtp.Server, most))
	}
	if err := client.SendMail(c.settings.Address, []string{to}, bytes.NewReader(body)); err != nil {
		err = fmt.Errorf("send mail: %w", err)
		if answer, ok := errors.AsType[*smtp.SMTPError](err); ok && !answer.Temporary() {
			return plugins.Permanent(err)
		}
		return plugins.AfterLogin(err)
	}
	_ = client.Quit() // the mail is taken, whatever comes now
	return nil
}
