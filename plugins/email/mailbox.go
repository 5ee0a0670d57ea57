package email

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"agenthost/plugins"
)

const cursor = "cursor" // the note of how far the mailbox is read

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

// takeNew takes the mails behind a position, and moves it.
func (b *mailbox) takeNew(ctx context.Context, in inbox, at *position) error {
	behind := imap.UIDSet{imap.UIDRange{Start: at.last + 1, Stop: 0}}
	uids, err := b.search(&imap.SearchCriteria{UID: []imap.UIDSet{behind}})
	if err != nil {
		return err
	}
	// * is the last mail, even where none is behind.
	uids = slices.DeleteFunc(uids, func(uid imap.UID) bool { return uid <= at.last })
	return b.each(in, uids, func(uid imap.UID) error {
		if err := b.take(ctx, in, uid, time.Time{}); err != nil {
			return err
		}
		at.last = max(at.last, uid)
		return in.SetNote(ctx, cursor, []byte(at.String()))
	})
}

func (b *mailbox) takeUnseen(ctx context.Context, in inbox, at position) error {
	uids, err := b.search(&imap.SearchCriteria{NotFlag: []imap.Flag{imap.FlagSeen}, Since: at.since.Add(-24 * time.Hour)})
	if err != nil {
		return err
	}
	uids = slices.DeleteFunc(uids, func(uid imap.UID) bool { return uid >= b.next })
	return b.each(in, uids, func(uid imap.UID) error { return b.take(ctx, in, uid, at.since) })
}

func (b *mailbox) search(criteria *imap.SearchCriteria) ([]imap.UID, error) {
	var found *imap.SearchData
	err := b.within(callWithin, func() (err error) { found, err = b.client.UIDSearch(criteria, nil).Wait(); return err })
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
	if err := b.within(answerWithin, b.client.Store(imap.UIDSetNum(uid), store, nil).Close); err != nil {
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
	receive := func() error {
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
		return command.Close()
	}
	if err := b.within(callWithin, receive); err != nil {
		b.failed.add(ctx, uid)
		return nil, fmt.Errorf("fetch mail %d: %w", uid, err)
	}
	if m == nil {
		return nil, nil //nolint:nilnil // it was deleted meanwhile
	}
	m.arrived = arrived
	if m.received.ID == "" {
		m.received.ID = b.uidID(uid)
	}
	if m.received.Thread == "" {
		m.received.Thread = m.received.ID
	}
	if m.received.SentAt.IsZero() {
		m.received.SentAt = arrived
	}
	return m, nil
}

// uidID is the id of a mail that has none of its own.
func (b *mailbox) uidID(uid imap.UID) string {
	return "uid-" + strconv.FormatUint(uint64(b.validity), 10) + "-" + strconv.FormatUint(uint64(uid), 10)
}
