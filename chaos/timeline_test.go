//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// timeline is all that the streams have stored of the session that the first
// fault is about, oldest first.
func (l *ledger) timeline(fault string) string {
	inbound := tape{js: l.js, stream: bus.InboundStream}
	if err := inbound.wind(); err != nil {
		return err.Error()
	}
	all := slices.Concat(inbound.msgs, l.sessions.msgs, l.answers.msgs)
	slices.SortStableFunc(all, func(a, b *jetstream.RawStreamMsg) int { return a.Time.Compare(b.Time) })
	var lines strings.Builder
	for _, msg := range all {
		channel, from, what := describe(msg)
		if what != "" && (strings.Contains(fault, channel+" "+from) || strings.Contains(fault, channel+"-"+from+"-")) {
			fmt.Fprintf(&lines, "%s %s %d: %s\n", msg.Time.Format("15:04:05.000000"), msg.Subject, msg.Sequence, what)
		}
	}
	return lines.String()
}

// describe tells whose a message is and what is in it.
func describe(msg *jetstream.RawStreamMsg) (channel, from, what string) {
	switch {
	case strings.HasPrefix(msg.Subject, bus.InboundPrefix):
		in := bus.Inbound{}
		_ = json.Unmarshal(msg.Data, &in) // findFaults reports what cannot be read
		return strings.TrimPrefix(msg.Subject, bus.InboundPrefix), in.From, "in " + in.ID
	case strings.HasPrefix(msg.Subject, bus.OutboundPrefix):
		out := bus.Outbound{}
		_ = json.Unmarshal(msg.Data, &out)
		return strings.TrimPrefix(msg.Subject, bus.OutboundPrefix), out.To, fmt.Sprintf("out %s answers %q", out.ID, answered(out))
	case strings.HasPrefix(msg.Subject, "agent.session."):
		c := session.Commit{}
		_ = json.Unmarshal(msg.Data, &c)
		channel, from, _ = strings.Cut(string(c.Key), "/dm/")
		var events []string
		for _, e := range c.Events {
			event := string(e.Type)
			if e.Attempt > 0 && e.Run != "" {
				event += fmt.Sprintf("(attempt %d)", e.Attempt)
			}
			for _, in := range e.Inputs {
				event += " " + in.ID
			}
			if e.Input != nil {
				event += " " + e.Input.ID
			}
			if e.Call != "" {
				event += " " + e.Call
			}
			events = append(events, event)
		}
		return channel, from, fmt.Sprintf("commit of run %s: %s", c.Run, strings.Join(events, ", "))
	default:
		return "", "", ""
	}
}
