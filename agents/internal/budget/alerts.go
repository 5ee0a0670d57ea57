package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/llm"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Alerts are the shares of budgets that are worth an alert once they are spent.
type Alerts struct {
	Limits Limits
	Shares []float64 // the lowest first
	// Approvers get a notice each, besides the event; of the budgets of people only
	// the event is given: there may be thousands of them.
	Approvers []string
}

// An alert says that a share of a budget is spent. Each is given once in its day
// or month, by one host of the fleet: the bucket AGENT_SPEND keeps a mark of it.
type alert struct {
	agent        string
	span         Span
	period       string // a day or a month of UTC
	peer         Peer
	record       string // the last part of the key of a person's record
	share        float64
	spent, limit int64 // micro-cents
}

// key is where the mark is kept.
func (a alert) key() string {
	key := a.agent + "." + a.period + ".alert." + string(a.span) + "-" + strconv.FormatFloat(a.share*100, 'f', -1, 64)
	if a.record != "" {
		key += "." + a.record
	}
	return key
}

// alert gives the alerts that are due now that so much is spent of an account. It
// does not wait.
func (l *Ledger) alert(a *account, spent int64) {
	if l.Alerts == nil {
		return
	}
	rules := l.Alerts()
	parts := strings.Split(a.key, ".")
	day := parts[1]
	if len(parts) > 2 {
		l.raise(rules, alert{agent: l.Agent, span: OfPeer, period: day, peer: a.peer, record: parts[2], spent: spent, limit: rules.Limits.Peer})
		return
	}
	l.raise(rules, alert{agent: l.Agent, span: OfDay, period: day, spent: spent, limit: rules.Limits.Day})
	if before := l.knownBefore(); before.day == day {
		month := alert{agent: l.Agent, span: OfMonth, period: day[:len(monthFormat)], limit: rules.Limits.Month}
		month.spent = llm.Sum(before.spent, spent)
		l.raise(rules, month)
	}
}

// raise gives an alert for each share that is reached and not told of yet. People
// are told of the highest alone.
func (l *Ledger) raise(rules Alerts, a alert) {
	if a.limit == 0 {
		return
	}
	var due []alert
	for _, share := range rules.Shares {
		a.share = share
		if float64(a.spent) >= share*float64(a.limit) && l.reported.add(a.key()+" "+a.period, time.Now()) {
			due = append(due, a)
		}
	}
	if len(due) == 0 {
		return
	}
	l.working.Go(func() { // the account that calls is one of working: it is not waited for yet
		fresh := slices.DeleteFunc(due, func(a alert) bool { return !l.publishAlert(a) })
		if len(fresh) > 0 {
			l.noticeAlert(rules.Approvers, fresh[len(fresh)-1])
		}
		for _, a := range fresh {
			l.markAlert(a)
		}
	})
}

// publishAlert publishes the event of an alert, and reports whether this host is
// the first to.
func (l *Ledger) publishAlert(a alert) (first bool) {
	ctx, cancel := context.WithTimeout(l.ctx, lastWrites)
	defer cancel()
	_, err := l.Reader.Entry(ctx, bus.SpendBucket, a.key())
	if err == nil {
		return false
	}
	if !errors.Is(err, records.ErrNotFound) {
		l.log().Warn().Err(err).Str("alert", a.key()).Msg("budget alert: look up failed; it may be given twice")
	}
	l.log().Warn().Str("span", string(a.span)).Str("period", a.period).Float64("share", a.share).
		Str("spent", llm.Money(a.spent)).Str("limit", llm.Money(a.limit)).Msg("budget alert")
	body := map[string]any{
		"agent": a.agent, "host": l.Host, "kind": alertEvent, "at": time.Now().UTC(),
		"span": a.span, "share": a.share, "spent": a.spent, "limit": a.limit,
	}
	if a.peer != "" {
		body["peer"] = a.peer
	}
	msg, err := bus.NewMessage(bus.EventsPrefix+a.agent+"."+alertEvent, body)
	if err == nil {
		err = l.publishOnce(ctx, msg, a.key())
	}
	if err != nil {
		l.log().Warn().Err(err).Str("alert", a.key()).Msg("publish budget alert")
	}
	return true
}

// alertEvent is the kind of the event.
const alertEvent = "budget_alert"

// publishOnce stores a message under an id: one that another host has published
// just now is dropped.
func (l *Ledger) publishOnce(ctx context.Context, msg *nats.Msg, id string) error {
	msg.Header.Set(nats.MsgIdHdr, id)
	_, err := l.Publisher.PublishWait(ctx, msg)
	return err
}

// noticeAlert publishes a notice for each approver.
func (l *Ledger) noticeAlert(approvers []string, a alert) {
	if a.span == OfPeer {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, lastWrites)
	defer cancel()
	for _, who := range approvers {
		place, from, _ := strings.Cut(who, "/")
		id := a.key() + ":" + session.SID(a.agent, session.Key(who))
		channel, instance, _ := strings.Cut(place, ".")
		msg, err := bus.NewMessage(bus.OutboundPrefix+place, bus.Outbound{
			ID: id, Agent: a.agent, Session: string(session.DM(channel, instance, from)), Kind: bus.KindNotice,
			To: from, Text: a.text(), SentAt: time.Now().UTC(),
		})
		if err == nil {
			msg.Header.Set(bus.SessionKeyHeader, string(session.DM(channel, instance, from)))
			err = l.publishOnce(ctx, msg, id)
		}
		if err != nil {
			l.log().Warn().Err(err).Str("approver", who).Msg("budget alert: notice not sent")
		}
	}
}

// text is what an approver reads.
func (a alert) text() string {
	return fmt.Sprintf("Budget alert: %s has spent %s of its %s for %s (%.0f %%).",
		a.agent, llm.Money(a.spent), llm.Money(a.limit), a.period, 100*float64(a.spent)/float64(a.limit))
}

// markAlert notes for all hosts that an alert was given.
func (l *Ledger) markAlert(a alert) {
	ctx, cancel := context.WithTimeout(l.ctx, lastWrites)
	defer cancel()
	bucket, err := l.records(ctx)
	if err == nil {
		_, err = bucket.Create(ctx, a.key(), []byte("{}"))
	}
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		l.log().Warn().Err(err).Str("alert", a.key()).Msg("budget alert: mark not written; it may be given again")
	}
}

func (l *Ledger) log() *zerolog.Logger {
	log := l.Log.With().Str("agent", l.Agent).Logger()
	return &log
}
