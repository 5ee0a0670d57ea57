package intake

import (
	"cmp"
	"strconv"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/clip"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/senders"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/pairing"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// Admits reports whether a message goes on to its session: its sender may write on
// the binding. What it does not admit is settled.
func (i *Intake) Admits(it *message.Item) bool {
	if it.Origin.Inbound != nil && it.Origin.Subject == profile.CanarySubject {
		return i.admitsCanary(it)
	}
	if it.Binding == nil || it.Origin.Inbound == nil {
		return true
	}
	if !i.mayWrite(it) {
		return false
	}
	i.Rate(it)
	return true
}

// mayWrite reports whether the sender may write on the binding. A stranger is told,
// once in an hour.
func (i *Intake) mayWrite(it *message.Item) bool {
	s := it.Binding.Senders
	if s.Pairing && !i.pairingsKnown() {
		it.Delivery.Leave()
		return false
	}
	switch i.judge(it) {
	case senders.Welcome:
		return true
	case senders.Denied:
		it.Delivery.Done()
		return false
	}
	if s.Pairing && it.Origin.Inbound.Answers == "" && i.maySettle(it) {
		it.OnlyKnown = true
		return true
	}
	if i.mayApprove(it) {
		i.Busy.Go(func() {
			if !i.approve(it) {
				i.turnAway(it)
			}
		})
		return false
	}
	i.turnAway(it)
	return false
}

// turnAway is done with a stranger's message: they may be told why.
func (i *Intake) turnAway(it *message.Item) {
	if i.Now().Shadow() || i.toldBefore(it) {
		it.Delivery.Done()
		return
	}
	notice, ok := i.Parts.Pairings.Notice(i.person(it), it.Binding.Senders.Pairing)
	if !ok {
		it.Delivery.Done()
		return
	}
	i.Busy.Go(func() { i.tellStranger(it, notice) })
}

func (i *Intake) judge(it *message.Item) senders.Verdict {
	s, who := it.Binding.Senders, i.person(it)
	rules := senders.Rules{Allow: s.Allow, Deny: s.Deny, Pairing: s.Pairing}
	return rules.Judge(who.From, func() bool { return i.letIn(it) })
}

// clocks is how far the clocks of servers may be apart.
const clocks = 10 * time.Second

// letIn reports whether its sender is approved, and was when the message was stored: what they
// wrote as a stranger had its answer then. Both times are of servers. What comes the first time
// may be a little older, as those of a cluster differ.
func (i *Intake) letIn(it *message.Item) bool {
	said, stored := i.Parts.Pairings.Standing(i.person(it)), it.Delivery.Stored
	if !it.MayHaveBegun() {
		stored = stored.Add(clocks)
	}
	return said.Paired && !stored.Before(said.Since)
}

// maySettle reports whether a message that may have begun is older than what the operator has
// said of its sender last, and so may have begun under what held before.
func (i *Intake) maySettle(it *message.Item) bool {
	return it.MayHaveBegun() && it.Delivery.Stored.Before(i.Parts.Pairings.Standing(i.person(it)).Since)
}

// toldBefore reports whether a stranger need not hear what a notice says: they are approved by
// now, and know it, or the message comes again, from before they were shut out or after the hour
// of the notice that it was for.
func (i *Intake) toldBefore(it *message.Item) bool {
	return it.Binding.Senders.Pairing && (i.Parts.Pairings.Paired(i.person(it)) || i.maySettle(it)) ||
		it.Tried && time.Since(it.Delivery.Stored) >= pairing.Valid
}

// pairingsKnown waits until the host knows who is paired; it is false when it stops
// before.
func (i *Intake) pairingsKnown() bool {
	select {
	case <-i.Parts.Pairings.Whole():
		return true
	case <-i.Work().Done():
		return false
	}
}

// person is who has written, and where they are told something.
func (i *Intake) person(it *message.Item) pairing.Pairing {
	in := it.Origin.Inbound
	channel, instance, _ := bus.Channel(it.Origin.Subject)
	return pairing.Pairing{
		Agent: i.Agent, Channel: channel, Instance: instance, From: message.Sender(in), Name: in.Name,
		Chat: in.Chat, Thread: in.Thread,
	}
}

// tellStranger tells a stranger that they may not write, with a code where the
// operator can let them in.
func (i *Intake) tellStranger(it *message.Item, who pairing.Pairing) {
	first, err := i.Parts.Pairings.Ask(i.Work(), who)
	if err != nil {
		i.log().Warn().Err(err).Str("from", who.From).Msg("tell a stranger: failed; the message comes again")
		it.Delivery.Leave()
		return
	}
	if !first {
		it.Delivery.Done()
		return
	}
	i.log().Info().Str("person", who.Person()).Bool("code", who.Code != "").Msg("a stranger has written; turned away")
	text := i.book(it).Say("stranger")
	if who.Code != "" {
		text = i.book(it).Say("pairing_code", "code", who.Code)
	}
	i.tell(it, it.Delivery, "stranger", bus.Outbound{Kind: bus.KindNotice, Text: text, Final: true}, settle(it.Delivery))
}

// Welcome tells a person that they were approved. Each host of the fleet does, and
// the stream keeps one.
func (i *Intake) Welcome(p pairing.Pairing) {
	if i.Now().Shadow() {
		return
	}
	subject := p.Channel
	if p.Instance != "" {
		subject += "." + p.Instance
	}
	key := session.DM(p.Channel, p.Instance, p.From)
	name := "paired:" + p.Agent + ":" + session.SID(p.Agent, key) + ":" + strconv.FormatInt(p.ApprovedAt.UnixNano(), 36)
	i.publishAside(bus.OutboundPrefix+subject, name, bus.Outbound{
		Session: string(key), Kind: bus.KindNotice, To: p.From, Chat: p.Chat, Thread: p.Thread, Final: true,
		Text: i.Now().By(bus.InboundPrefix + subject).Texts.Say("pairing_approved"),
	}, tracing.Context{}, func(bool) {})
}

// Rate notes whether the rate of its sender is to judge a message: its session asks
// WithinRate, unless it finds that the message has come before, or answers what is open in its
// chat. What may have begun is in the log of its session, where it has.
func (i *Intake) Rate(it *message.Item) {
	if i.rated(it) && it.NotBefore.IsZero() {
		it.Unrated = time.Now()
	}
}

// rated reports whether a message counts for a rate.
func (i *Intake) rated(it *message.Item) bool {
	in := it.Origin.Inbound
	if in == nil || it.Binding == nil || !rateOf(it).Limited() {
		return false
	}
	return in.Answers == "" && !it.Changes() && !i.IsOrder(in)
}

// SameRate reports whether two messages count for one rate: those of one sender.
func (i *Intake) SameRate(a, b *message.Item) bool {
	return i.rated(a) && i.rated(b) && i.person(a).Person() == i.person(b).Person()
}

// rates count what senders write.
func (i *Intake) rates() *senders.Limiter {
	if i.Whole != nil {
		return &i.Whole.limiter
	}
	return &i.limiter
}

func rateOf(it *message.Item) senders.Rate {
	return senders.Rate{Messages: it.Binding.Rate.Messages, Per: it.Binding.Rate.Per}
}

// WithinRate reports whether a message that the rate is to judge may go on: one over the rate
// waits in its session, or is to be refused, with OverRate. What is to be refused stays unrated:
// it has taken nothing, and is judged the same when that has to be done again. It takes no lock of
// the session and waits for nothing.
func (i *Intake) WithinRate(it *message.Item) bool {
	came := it.Unrated
	sender, rate := i.person(it).Person(), rateOf(it)
	if it.Binding.Rate.Over == agents.RateRefuse {
		if !i.rates().Allow(sender, rate, came) {
			return false
		}
		it.Unrated = time.Time{}
		return true
	}
	it.Unrated = time.Time{}
	at, owed := i.rates().Take(sender, rate, came)
	if !at.After(time.Now()) {
		return true
	}
	it.NotBefore = at
	if d := it.Delivery; !owed && d != nil && !heardOfWait(it) { // without one it has waited in the log, and its sender was told
		i.Busy.Go(func() {
			i.tell(it, d, "over", bus.Outbound{Kind: bus.KindNotice, Text: i.book(it).Say("rate_wait")}, func(bool) {})
		})
	}
	return true
}

// heardOfWait reports whether an owner before may have said that a message waits, longer ago than
// the stream remembers.
func heardOfWait(it *message.Item) bool {
	return it.Tried && time.Since(it.Stored) >= bus.DedupeWindow
}

// OverRate is why a message is refused that is over the rate of its sender.
func (i *Intake) OverRate(it *message.Item) *run.Error {
	return &run.Error{Code: llm.CodeRateLimited, Message: i.book(it).Say("rate_limited")}
}

// book are the sentences as they hold for the binding by which a message came.
func (i *Intake) book(it *message.Item) texts.Book { return i.Now().By(it.Origin.Subject).Texts }

// settle ends a delivery once what it is answered with is stored.
func settle(d *delivery.Delivery) func(stored bool) {
	return func(stored bool) {
		if stored {
			d.Done()
		} else {
			d.Leave()
		}
	}
}

// tell answers a message beside its session. why and the message name the answer, so
// that the stream keeps it once.
func (i *Intake) tell(it *message.Item, d *delivery.Delivery, why string, out bus.Outbound, stored func(bool)) {
	if i.Now().Shadow() {
		stored(true)
		return
	}
	in := it.Origin.Inbound
	out.Session = string(i.Parts.Identities.Session(it.Origin.Key(it.Input.ID)))
	out.To, out.Chat, out.Thread = message.Sender(in), in.Chat, in.Thread
	out.InReplyTo = clip.Head(cmp.Or(in.ID, it.Input.ID), echoedID)
	name := i.Agent + ":" + d.Stream() + ":" + strconv.FormatUint(d.Seq, 10) + ":" + why
	i.publishAside(it.Origin.Outbound(), name, out, tracing.In(d.Header()), stored)
}

// publishAside publishes what no session has said.
func (i *Intake) publishAside(subject, name string, out bus.Outbound, trace tracing.Context, stored func(bool)) {
	out.Run, out.ID = name, name+".1"
	out.Agent, out.SentAt = i.Agent, time.Now().UTC()
	msg, err := bus.NewMessage(subject, out)
	if err != nil {
		i.log().Error().Err(err).Msg("encode answer")
		stored(false)
		return
	}
	msg.Header.Set(nats.MsgIdHdr, out.ID)
	msg.Header.Set(bus.SessionKeyHeader, out.Session)
	trace.Set(msg.Header)
	i.Parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			i.log().Error().Err(err).Str("subject", subject).Msg("publish answer")
		}
		stored(err == nil)
	})
}
