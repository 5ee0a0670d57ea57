package email

import (
	"errors"

	"github.com/emersion/go-imap/v2"

	"agenthost/plugins"
)

// mostFetches is how often a mail is fetched before those behind it go first.
const mostFetches = 5

// failed counts how often the server has not given a mail. Most then end the connection. Only
// the one that reads the mailbox uses it.
type failed struct {
	validity uint32
	times    map[imap.UID]int
}

func (f *failed) add(validity uint32, uid imap.UID) {
	if f.times == nil || f.validity != validity {
		*f = failed{validity, map[imap.UID]int{}}
	}
	f.times[uid]++
}

// gone reports whether a mail is one that the server does not give.
func (f *failed) gone(validity uint32, uid imap.UID) bool {
	return f.validity == validity && f.times[uid] >= mostFetches
}

// each takes mails in their order. One that the server does not give, such as a damaged file,
// holds up no mail behind it: when one of those is taken the server works, and that mail is left
// unseen. Otherwise, as while the storage of the server is away, all are tried again.
func (b *mailbox) each(in inbox, uids []imap.UID, take func(imap.UID) error) error {
	var left []imap.UID
	taken := false
	for _, uid := range uids {
		if b.failed.gone(b.validity, uid) {
			left = append(left, uid)
			continue
		}
		if err := take(uid); err != nil {
			return err
		}
		taken = true
	}
	for _, uid := range left {
		if !taken {
			if err := take(uid); err != nil {
				return err
			}
			continue
		}
		delete(b.failed.times, uid)
		in.Refused(plugins.Received{ID: b.uidID(uid)}, errors.New("the IMAP server does not give the mail; it stays unseen in the mailbox"))
	}
	return nil
}
