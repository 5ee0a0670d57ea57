package email

import (
	"context"
	"errors"
	"slices"

	"github.com/emersion/go-imap/v2"

	"agenthost/plugins"
)

// mostFetches is how often a mail is fetched before those behind it go first.
const mostFetches = 5

// failed are the mails that the server has not given. Most such failures end the connection. Only
// the one that reads the mailbox uses it.
type failed struct {
	validity uint32
	times    map[imap.UID]int // how often each was not given
	passed   []imap.UID       // of these, those behind which the server has given one since
	refused  []imap.UID       // and those that it has not given after that either
}

// add counts a failure that is not the end of ctx.
func (f *failed) add(ctx context.Context, uid imap.UID) {
	if ctx.Err() == nil {
		f.times[uid]++
	}
}

// of forgets what belongs to other UIDs.
func (f *failed) of(validity uint32) {
	if f.times == nil || f.validity != validity {
		*f = failed{validity: validity, times: map[imap.UID]int{}}
	}
}

// each takes mails in their order. One that the server does not give, such as a damaged file,
// holds up no mail behind it. When one of those is taken the server works: the mail before it is
// tried once more, and is left unseen where that fails too. Otherwise, as while the storage of the
// server is away, all are tried again.
func (b *mailbox) each(in inbox, uids []imap.UID, take func(imap.UID) error) error {
	f := &b.failed
	f.of(b.validity)
	var later []imap.UID
	for _, uid := range uids {
		switch {
		case slices.Contains(f.passed, uid), slices.Contains(f.refused, uid):
			continue
		case f.times[uid] >= mostFetches:
			later = append(later, uid)
			continue
		}
		if err := take(uid); err != nil {
			return err
		}
		delete(f.times, uid)
		f.passed, later = append(f.passed, later...), nil // take moves the position behind them
	}
	if err := b.takePassed(in, take); err != nil {
		return err
	}
	for _, uid := range later {
		if err := take(uid); err != nil {
			return err
		}
		delete(f.times, uid)
	}
	return nil
}

// takePassed tries the mails once more that were passed by.
func (b *mailbox) takePassed(in inbox, take func(imap.UID) error) error {
	f := &b.failed
	for len(f.passed) > 0 {
		uid := f.passed[0]
		before := f.times[uid]
		err := take(uid)
		if err != nil && f.times[uid] == before { // the mail was given
			return err
		}
		f.passed = f.passed[1:]
		delete(f.times, uid)
		if err != nil {
			f.refused = append(f.refused, uid)
			in.Refused(plugins.Received{ID: b.uidID(uid)}, errors.New("the IMAP server does not give the mail; it stays unseen in the mailbox"))
			return err
		}
	}
	return nil
}
