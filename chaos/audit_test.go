//go:build unix && long

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// audit waits until everything said is answered and acknowledged, and then
// reports what the streams hold that breaks a promise.
func (l *ledger) audit() {
	l.t.Helper()
	if l.t.Failed() {
		l.t.FailNow() // not everything was said
	}
	l.t.Cleanup(func() {
		if open := l.open(); l.t.Failed() && len(open) > 0 {
			_ = l.sessions.wind() // as far as it goes
			l.t.Logf("%d without an answer: %q; the session of the first:\n%s", len(open), open[:min(len(open), 20)], l.timeline(open[0]+"-"))
		}
	})
	await(l.t, "an answer to every message", l.allAnswered)
	await(l.t, "an acknowledgement of every message", l.allAcknowledged)
	await(l.t, "all streams", func() bool {
		return l.answers.wind() == nil && l.sessions.wind() == nil && l.letters.wind() == nil
	})
	faults := findFaults(l.said, l.answers.msgs, l.sessions.msgs, l.letters.msgs)
	for _, fault := range faults[:min(len(faults), 20)] {
		l.t.Error(fault)
	}
	if len(faults) > 0 {
		l.t.Fatalf("%d faults; the session of the first:\n%s", len(faults), l.timeline(faults[0]))
	}
}

// allAnswered reports whether every statement has a final answer.
func (l *ledger) allAnswered() bool { return l.answers.wind() == nil && len(l.open()) == 0 }

// open are the ids without a final answer on the tape.
func (l *ledger) open() []string {
	l.closeAnswered()
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []string
	for id := range l.said {
		if !l.closed[id] {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return open
}

// closeAnswered notes the final answers that are new on the tape.
func (l *ledger) closeAnswered() {
	for _, msg := range l.answers.msgs[l.counted:] {
		out := bus.Outbound{}
		if json.Unmarshal(msg.Data, &out) == nil && out.Final {
			for _, id := range answered(out) {
				l.closed[id] = true
			}
		}
	}
	l.counted = len(l.answers.msgs)
}

// allAcknowledged reports whether no lane has anything left to deliver.
func (l *ledger) allAcknowledged() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	stream, err := l.js.Stream(ctx, bus.InboundStream)
	if err != nil {
		return false
	}
	lanes := stream.ListConsumers(ctx)
	for info := range lanes.Info() {
		if info.NumPending > 0 || info.NumAckPending > 0 {
			return false
		}
	}
	return lanes.Err() == nil
}

// summary says what an audit without faults has shown.
func (l *ledger) summary() string {
	people := map[string]bool{}
	for _, s := range l.said {
		people[s.who()] = true
	}
	return fmt.Sprintf("%d messages of %d sessions: 0 lost, 0 answered twice, 0 out of order", len(l.said), len(people))
}

// firstAfter is how long after moment the first answer was stored to what was
// said after it.
func (l *ledger) firstAfter(moment time.Time) time.Duration {
	l.t.Helper()
	for _, msg := range l.answers.msgs {
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			l.t.Fatal(err)
		}
		if l.said[out.InReplyTo].begun.After(moment) {
			return msg.Time.Sub(moment)
		}
	}
	l.t.Fatal("nothing that was said after the kill is answered")
	return 0
}

// since reports whether an answer was stored after moment.
func (l *ledger) since(moment time.Time) bool {
	return l.answers.wind() == nil && slices.ContainsFunc(l.answers.msgs, func(msg *jetstream.RawStreamMsg) bool {
		return msg.Time.After(moment)
	})
}
