package toolcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// notifies reports whether approvers hear of approvals in their own chats.
func (t *Caller) notifies() bool {
	p := t.Agent.Now()
	return p.Config.Notify == agents.NotifyApprovers && !p.Shadow()
}

// notifyApprovers puts an approval into the chat of each approver who was not asked
// already. It is done before the call is stored as waiting, so one that is stored has
// been told: a restart, however late, repeats no notice.
func (t *Caller) notifyApprovers(ctx context.Context, w agents.Waiting) error {
	if !w.Notified {
		return nil
	}
	parts := t.Agent.Parts
	_, err := parts.Reader.Entry(ctx, bus.WaitingBucket, w.ID)
	if err == nil {
		return nil
	}
	if !errors.Is(err, records.ErrNotFound) {
		return fmt.Errorf("look up what is waited for: %w", err)
	}
	for _, who := range w.Approvers {
		if t.denies(who) {
			parts.Few.Warn().Str("agent", w.Agent).Str("approver", who).Msg("approver is not asked: senders.deny of that channel has them; take them out of it")
			continue
		}
		msg, err := t.approvalFor(w, who)
		if err != nil {
			return err
		}
		if msg == nil {
			continue
		}
		if _, err := parts.Publisher.PublishWait(ctx, msg); err != nil {
			return fmt.Errorf("notify approver %s: %w", who, err)
		}
	}
	return nil
}

// denies reports whether the agent's binding to the channel of an approver denies them: they
// hear nothing there, and nothing that they say counts.
func (t *Caller) denies(who string) bool {
	account, from, _ := strings.Cut(who, "/")
	b := t.Agent.Now().Binding(bus.InboundPrefix + account)
	return b != nil && slices.Contains(b.Senders.Deny, from)
}

// approvalFor is the approval as one of the approvers gets it; nil for the one who was
// asked.
func (t *Caller) approvalFor(w agents.Waiting, who string) (*nats.Msg, error) {
	account, from, _ := strings.Cut(who, "/")
	channel, instance, _ := strings.Cut(account, ".")
	out := bus.Outbound{
		ID: w.ID + ":" + session.SID(w.Agent, session.Key(who)), Agent: w.Agent,
		Session: string(session.DM(channel, instance, from)), Run: w.Run, Kind: bus.KindApproval, To: from,
		Text: t.said(&run.Wait{For: run.ForApproval, Prompt: t.promptFor(w), Number: w.Number}),
		Call: w.ID, Options: w.Options, SentAt: time.Now().UTC(),
	}
	if at := w.Origin; at != nil && at.Session == out.Session && at.Subject == bus.OutboundPrefix+account {
		return nil, nil
	}
	msg, err := bus.NewMessage(bus.OutboundPrefix+account, out)
	if err != nil {
		return nil, err
	}
	msg.Header.Set(nats.MsgIdHdr, out.ID)
	msg.Header.Set(bus.SessionKeyHeader, out.Session)
	t.Trace.Set(msg.Header)
	return msg, nil
}

// promptFor is what an approver decides on: what an agent wants to do, and in whose chat.
func (t *Caller) promptFor(w agents.Waiting) string {
	if w.Origin == nil {
		return w.Prompt
	}
	return w.Prompt + gap(w.Prompt) + t.Profile.Texts.Say("approval_chat", "who", chatOf(w.Origin))
}

// chatOf names a chat: by the key of its session, or by its address where no conversation has led to it,
// as of a schedule.
func chatOf(at *bus.Origin) string {
	if session.Key(at.Session).IsChat() {
		return at.Session
	}
	account := strings.TrimPrefix(at.Subject, bus.OutboundPrefix)
	return strings.TrimSuffix(account+"/"+cmp.Or(at.Chat, at.To), "/")
}
