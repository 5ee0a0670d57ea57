package budget

import (
	"context"
	"errors"
	"strings"
	"time"

	"agenthost/bus/records"
)

// load reads the record if another host may have changed it. A write that
// seemed to fail and did not is found out by its name.
func (a *account) load() error {
	if !a.stale {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ledger.ctx, lastWrites)
	defer cancel()
	record, revision, err := a.ledger.read(ctx, a.key)
	switch {
	case errors.Is(err, records.ErrDeleted), errors.Is(err, records.ErrNotFound) && a.ofPerson(): // it starts again at 0
	case errors.Is(err, records.ErrNotFound):
		record = a.known()
	case errors.Is(err, errUnreadable): // nor would it be readable the next time
		a.ledger.Log.Warn().Err(err).Str("record", a.key).Msg("read what was spent: failed; it is written again as this host knows it")
		record = a.record
	case err != nil:
		return err
	}
	a.record, a.revision, a.stale, a.seen = record, revision, false, time.Now()
	mine := record.Hosts[a.ledger.Host]
	if a.doubt.name != "" && a.doubt.name == mine.Write {
		a.ledger.mu.Lock()
		a.owed.subAll(a.doubt.owed)
		a.ledger.mu.Unlock()
		a.booked = nil
	}
	a.doubt = doubt{}
	a.compare(mine)
	return nil
}

// reload reads the record before a call is refused, and reports whether it could. A refusal writes
// nothing, so a record that an operator has deleted or changed would not be noticed.
func (a *account) reload() bool {
	a.stale = true
	if err := a.load(); err != nil {
		a.ledger.Log.Debug().Err(err).Str("record", a.key).Msg("read what was spent: failed; a call is refused by what this host knows")
		a.stale = false
		return false
	}
	return true
}

// known is the record as it was last seen, empty before. It stands for one that NATS has lost,
// as a leader can whose disk is full.
func (a *account) known() Spend {
	if a.revision > 0 {
		a.ledger.Log.Warn().Str("record", a.key).Msg("NATS has lost what was spent; it is written again as this host knows it")
	}
	return a.record
}

// ofPerson reports whether it is of one person, whose record may be erased.
func (a *account) ofPerson() bool { return strings.Count(a.key, ".") > 1 }

// compare finds out what the record says of this host. A share that is not there
// any more, another host has booked.
func (a *account) compare(mine Share) {
	if mine.ledger() == a.ledger.id {
		a.written = mine.Runs
		return
	}
	for run, amount := range a.written {
		a.booked.add(run, amount)
	}
	a.written = nil
}
