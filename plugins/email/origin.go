package email

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// An origin is what has to be known of a mail to answer it.
type origin struct {
	from    string
	subject string
	replyTo string // empty: from
}

const mostKnown = 1000

// A mailKey names a mail. Its id alone does not: anyone may send one under the id of another's.
type mailKey struct{ id, from string }

// known remembers the last mails. Those of before are looked up in the mailbox.
type known struct {
	mu    sync.Mutex
	mails map[mailKey]origin
	order []mailKey
}

// add remembers a mail. Of two under one id the first is the message that is answered.
func (k *known) add(id string, o origin) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := mailKey{id, o.from}
	if _, ok := k.mails[key]; ok {
		return
	}
	k.order = append(k.order, key)
	k.mails[key] = o
	if len(k.order) > mostKnown {
		delete(k.mails, k.order[0])
		k.order = k.order[1:]
	}
}

func (k *known) get(key mailKey) (origin, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, ok := k.mails[key]
	return o, ok
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
	var found []*imapclient.FetchMessageBuffer
	err = box.within(callWithin, func() (err error) {
		found, err = box.client.Fetch(imap.UIDSetNum(uids...), &imap.FetchOptions{UID: true, Envelope: true}).Collect()
		return err
	})
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
