package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/plugins"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

const (
	pollEvery = time.Minute // where there is no IDLE
	cursor    = "cursor"    // the note of how far the mailbox is read
)

// Some servers lose the word of a mail that came just before IDLE: it is looked for all
// the same, long before a server ends the connection. Tests set idleFor.
var idleFor = 30 * time.Second

// A mailbox is a connection with the folder open.
type mailbox struct {
	*Channel
	client   *imapclient.Client
	validity uint32
	next     imap.UID
	news     chan struct{}
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
		if client, err = imapclient.NewStartTLS(conn, options); err != nil {
			conn.Close()
			return nil, fmt.Errorf("STARTTLS with %s: %w", c.imap.Server, err)
		}
	} else {
		client = imapclient.New(conn, options)
	}
	box := &mailbox{Channel: c, client: client, news: news}
	if err := box.enter(); err != nil {
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
	return nil
}

func (b *mailbox) close() {
	logout := b.client.Logout()
	timer := time.AfterFunc(5*time.Second, func() { b.client.Close() })
	defer timer.Stop()
	_ = logout.Wait()
	_ = b.client.Close()
}

func (c *Channel) run(ctx context.Context, in inbox) error {
	news := make(chan struct{}, 1)
	box, err := c.open(ctx, news)
	if err != nil {
		return endedBy(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { box.client.Close() })
	defer stop()
	defer box.client.Close()
	at, err := box.position(ctx, in)
	if err != nil {
		return endedBy(ctx, err)
	}
	in.Connected(c.settings.Address)
	return endedBy(ctx, box.read(ctx, in, at))
}

// endedBy prefers the reason for which ctx has ended to the error that follows.
func endedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A position is how far a mailbox is read.
type position struct {
	validity uint32
	last     imap.UID
	since    time.Time // the first day
}

func (p position) String() string {
	return fmt.Sprintf("%d %d %d", p.validity, p.last, p.since.Unix())
}

func parsePosition(note []byte) (p position, ok bool) {
	var unix int64
	n, err := fmt.Sscanf(string(note), "%d %d %d", &p.validity, &p.last, &unix)
	p.since = time.Unix(unix, 0)
	return p, err == nil && n == 3
}

// position is how far the mailbox is read: on the first day, up to now.
func (b *mailbox) position(ctx context.Context, in inbox) (position, error) {
	note, err := in.Note(ctx, cursor)
	if err != nil {
		return position{}, err
	}
	at, ok := parsePosition(note)
	if !ok {
		at = b.end(time.Now())
		err = in.SetNote(ctx, cursor, []byte(at.String()))
	}
	return at, err
}

// end is the position behind all that was there when the folder was opened.
func (b *mailbox) end(since time.Time) position {
	return position{b.validity, max(b.next, 1) - 1, since}
}

// read takes what is new, and waits for more.
func (b *mailbox) read(ctx context.Context, in inbox, at position) error {
	if at.validity != b.validity {
		// The server counts from 1 again. What was taken is seen; ids tell the rest.
		if err := b.takeUnseen(ctx, in, at); err != nil {
			return err
		}
		at = b.end(at.since)
		if err := in.SetNote(ctx, cursor, []byte(at.String())); err != nil {
			return err
		}
	}
	for {
		if err := b.takeNew(ctx, in, &at); err != nil {
			return err
		}
		if err := b.wait(ctx); err != nil {
			return err
		}
	}
}

// wait returns when there may be mail.
func (b *mailbox) wait(ctx context.Context) error {
	if !b.client.Caps().Has(imap.CapIdle) {
		select {
		case <-b.news:
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
		return b.client.Noop().Wait()
	}
	idle, err := b.client.Idle()
	if err != nil {
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
	if err := idle.Close(); err != nil {
		b.client.Close()
		return errors.Join(err, <-ended)
	}
	return <-ended
}

// takeNew takes the mails behind a position, and moves it.
func (b *mailbox) takeNew(ctx context.Context, in inbox, at *position) error {
	behind := imap.UIDSet{imap.UIDRange{Start: at.last + 1, Stop: 0}}
	uids, err := b.search(&imap.SearchCriteria{UID: []imap.UIDSet{behind}})
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if uid <= at.last {
			continue // * is the last mail, even where none is behind
		}
		if err := b.take(ctx, in, uid, time.Time{}); err != nil {
			return err
		}
		at.last = uid
		if err := in.SetNote(ctx, cursor, []byte(at.String())); err != nil {
			return err
		}
	}
	return nil
}

func (b *mailbox) takeUnseen(ctx context.Context, in inbox, at position) error {
	uids, err := b.search(&imap.SearchCriteria{NotFlag: []imap.Flag{imap.FlagSeen}, Since: at.since.Add(-24 * time.Hour)})
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if uid >= b.next {
			break
		}
		if err := b.take(ctx, in, uid, at.since); err != nil {
			return err
		}
	}
	return nil
}

func (b *mailbox) search(criteria *imap.SearchCriteria) ([]imap.UID, error) {
	found, err := b.client.UIDSearch(criteria, nil).Wait()
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", b.settings.Folder, err)
	}
	uids := found.AllUIDs()
	slices.Sort(uids)
	return uids, nil
}

// take hands one mail to the agents and marks it as seen.
func (b *mailbox) take(ctx context.Context, in inbox, uid imap.UID, since time.Time) error {
	m, err := b.fetch(ctx, uid, in.MaxFile())
	if err != nil || m == nil || m.arrived.Before(since) {
		return err
	}
	switch {
	case m.refused != nil:
		in.Refused(m.received, m.refused)
	case m.automatic == "":
		b.known.add(m.received.ID, m.origin)
		if err := in.Take(ctx, m.received); err != nil && !errors.Is(err, plugins.ErrMalformed) && !errors.Is(err, plugins.ErrTooLarge) {
			return err
		}
	}
	store := &imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{imap.FlagSeen}}
	if err := b.client.Store(imap.UIDSetNum(uid), store, nil).Close(); err != nil {
		return fmt.Errorf("mark mail %d as seen: %w", uid, err)
	}
	return nil
}

// fetch reads a mail while it comes from the server. It is nil when the mail is gone.
func (b *mailbox) fetch(ctx context.Context, uid imap.UID, maxFile int64) (*incoming, error) {
	section := &imap.FetchItemBodySection{Peek: true}
	command := b.client.Fetch(imap.UIDSetNum(uid), &imap.FetchOptions{InternalDate: true, UID: true, BodySection: []*imap.FetchItemBodySection{section}})
	var m *incoming
	var arrived time.Time
	if data := command.Next(); data != nil {
		for item := data.Next(); item != nil; item = data.Next() {
			switch item := item.(type) {
			case imapclient.FetchItemDataInternalDate:
				arrived = item.Time
			case imapclient.FetchItemDataBodySection:
				if item.Literal != nil {
					m = b.parse(ctx, item.Literal, maxFile)
					_, _ = io.Copy(io.Discard, item.Literal)
				}
			}
		}
	}
	if err := command.Close(); err != nil {
		return nil, fmt.Errorf("fetch mail %d: %w", uid, err)
	}
	if m == nil {
		return nil, nil //nolint:nilnil // it was deleted meanwhile
	}
	m.arrived = arrived
	if m.received.ID == "" {
		m.received.ID = "uid-" + strconv.FormatUint(uint64(b.validity), 10) + "-" + strconv.FormatUint(uint64(uid), 10)
	}
	if m.received.Thread == "" {
		m.received.Thread = m.received.ID
	}
	if m.received.SentAt.IsZero() {
		m.received.SentAt = arrived
	}
	return m, nil
}

// mostLooked is how many mails under one id are looked at, the oldest first: who copies an id has
// seen the mail that had it.
const mostLooked = 100

// lookUp finds in the mailbox what has to be known of a person's mail to answer it.
func (c *Channel) lookUp(ctx context.Context, key mailKey) (origin, error) {
	if o, ok := c.known.get(key); ok || !isMailID(key.id) {
		return o, nil
	}
	box, err := c.open(ctx, nil)
	if err != nil {
		return origin{}, err
	}
	stop := context.AfterFunc(ctx, func() { box.client.Close() })
	defer stop()
	defer box.close()
	uids, err := box.search(&imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: "Message-Id", Value: key.id}}})
	if err != nil || len(uids) == 0 {
		return origin{}, err
	}
	uids = uids[:min(len(uids), mostLooked)]
	found, err := box.client.Fetch(imap.UIDSetNum(uids...), &imap.FetchOptions{UID: true, Envelope: true}).Collect()
	if err != nil {
		return origin{}, err
	}
	slices.SortFunc(found, func(a, b *imapclient.FetchMessageBuffer) int { return cmp.Compare(a.UID, b.UID) })
	for _, m := range found {
		if o, ok := originOf(m.Envelope, key); ok {
			c.known.add(key.id, o)
			return o, nil
		}
	}
	return origin{}, nil
}

// originOf is the origin of a mail, if it is the one that key names. The search also finds
// those whose ids are longer, and those of others.
func originOf(e *imap.Envelope, key mailKey) (origin, bool) {
	if e == nil || e.MessageID != key.id || len(e.From) != 1 || !strings.EqualFold(e.From[0].Addr(), key.from) {
		return origin{}, false
	}
	o := origin{subject: oneLine(e.Subject), from: key.from}
	if len(e.ReplyTo) == 1 {
		o.replyTo = replyTo(o.from, strings.ToLower(e.ReplyTo[0].Addr()))
	}
	return o, true
}
