package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"agenthost/plugins"
)

const pollEvery = time.Minute // where there is no IDLE

// Tests set these.
var (
	// Some servers lose the word of a mail that came just before IDLE: it is looked for all
	// the same, long before a server ends the connection.
	idleFor = 30 * time.Second
	// answerWithin is how long a server may be silent after a command. Where the network drops
	// what is sent, TCP waits for a quarter of an hour.
	answerWithin = time.Minute
)

// A mailbox is a connection with the folder open.
type mailbox struct {
	*Channel
	client   *imapclient.Client
	validity uint32
	next     imap.UID
	idles    bool // the server has IDLE
	news     chan struct{}
}

// within waits for what the server answers. Where that takes too long the connection ends,
// and with it the wait.
func (s server) within(limit time.Duration, conn io.Closer, wait func() error) error {
	timer := time.AfterFunc(limit, func() { conn.Close() })
	err := wait()
	if !timer.Stop() {
		return fmt.Errorf("no answer from %s within %s: %w", s.Server, limit, cmp.Or(err, net.ErrClosed))
	}
	return err
}

func (b *mailbox) within(limit time.Duration, wait func() error) error {
	return b.imap.within(limit, b.client, wait)
}

// open logs in and opens the folder. news gets a value when the server says that
// there is mail; nil: that is not wanted.
func (c *Channel) open(ctx context.Context, news chan struct{}) (*mailbox, error) {
	conn, err := c.imap.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	options := &imapclient.Options{TLSConfig: c.imap.tls, UnilateralDataHandler: &imapclient.UnilateralDataHandler{
		Mailbox: func(data *imapclient.UnilateralDataMailbox) {
			if data.NumMessages == nil {
				return
			}
			select {
			case news <- struct{}{}:
			default:
			}
		},
	}}
	var client *imapclient.Client
	if c.imap.TLS == startTLS {
		err = c.imap.within(answerWithin, conn, func() (err error) { client, err = imapclient.NewStartTLS(conn, options); return err })
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("STARTTLS with %s: %w", c.imap.Server, err)
		}
	} else {
		client = imapclient.New(conn, options)
	}
	box := &mailbox{Channel: c, client: client, news: news}
	if err := box.within(answerWithin, box.enter); err != nil {
		client.Close()
		return nil, err
	}
	return box, nil
}

func (b *mailbox) enter() error {
	if err := b.client.Login(b.imap.User, b.imap.Password).Wait(); err != nil {
		if answer, ok := errors.AsType[*imap.Error](err); ok && answer.Code != imap.ResponseCodeUnavailable {
			return plugins.NoLogin(fmt.Errorf("%s does not let %s in: %w; check user and password", b.imap.Server, b.imap.User, err))
		}
		return fmt.Errorf("log in to %s: %w", b.imap.Server, err)
	}
	selected, err := b.client.Select(b.settings.Folder, nil).Wait()
	if err != nil {
		return fmt.Errorf("open folder %s: %w", b.settings.Folder, err)
	}
	b.validity, b.next = selected.UIDValidity, selected.UIDNext
	caps := b.client.Caps()
	if caps == nil {
		return fmt.Errorf("%s has not said what it can do: the connection is lost", b.imap.Server)
	}
	b.idles = caps.Has(imap.CapIdle)
	return nil
}

func (b *mailbox) close() {
	logout := b.client.Logout()
	timer := time.AfterFunc(5*time.Second, func() { b.client.Close() })
	defer timer.Stop()
	_ = logout.Wait()
	_ = b.client.Close()
}

// wait returns when there may be mail.
func (b *mailbox) wait(ctx context.Context) error {
	if b.idles {
		return b.idle(ctx)
	}
	select {
	case <-b.news:
	case <-time.After(pollEvery):
	case <-b.client.Closed():
	case <-ctx.Done():
		return ctx.Err()
	}
	return b.within(answerWithin, b.client.Noop().Wait)
}

// idle is wait with a server that says when there is mail.
func (b *mailbox) idle(ctx context.Context) error {
	var idle *imapclient.IdleCommand
	if err := b.within(answerWithin, func() (err error) { idle, err = b.client.Idle(); return err }); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- idle.Wait() }()
	select {
	case err := <-ended: // the connection is lost
		if err == nil {
			err = errors.New("the server has ended IDLE")
		}
		return err
	case <-b.news:
	case <-time.After(idleFor):
	case <-ctx.Done():
	}
	return b.within(answerWithin, func() error {
		if err := idle.Close(); err != nil {
			b.client.Close()
			return errors.Join(err, <-ended)
		}
		return <-ended
	})
}
