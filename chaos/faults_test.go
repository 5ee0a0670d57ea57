//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A search is for what breaks a promise.
type search struct {
	said   map[string]statement
	faults []string

	times     map[string]int    // how often a message was answered
	last      map[string]int    // the number of each person's message that was answered last
	stored    map[string]int    // how often an outbound id is
	published map[string]bool   // outbound ids of answers
	refused   map[string]bool   // those that tell that there is no room
	ended     map[string]int    // how often a run has
	inputs    map[string]string // the run of a message
	logged    map[string]bool   // outbound ids in the logs
}

// findFaults holds the streams against what was said: nothing lost, nothing
// answered twice, each session in order, every text right, every run ended
// once, every reply of a log published and no other, nothing dead that is not
// fatal.
func findFaults(said map[string]statement, answers, sessions, letters []*jetstream.RawStreamMsg) []string {
	s := &search{
		said: said, times: map[string]int{}, last: map[string]int{}, stored: map[string]int{}, published: map[string]bool{}, refused: map[string]bool{},
		ended: map[string]int{}, inputs: map[string]string{}, logged: map[string]bool{},
	}
	each(s, answers, s.answer)
	each(s, sessions, s.commit)
	dead := map[string]bool{}
	each(s, letters, func(_ *jetstream.RawStreamMsg, letter bus.DeadLetter) { s.letter(letter, dead) })
	for _, id := range slices.Sorted(maps.Keys(said)) {
		if n := s.times[id]; n != 1 {
			s.fault("message %s is answered %d times", id, n)
		}
		if said[id].fatal && !dead[id] {
			s.fault("message %s is no dead letter", id)
		}
	}
	s.totals()
	return s.faults
}

func (s *search) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// each decodes the messages of a stream for f.
func each[T any](s *search, msgs []*jetstream.RawStreamMsg, f func(*jetstream.RawStreamMsg, T)) {
	for _, msg := range msgs {
		if isSnapshot(msg) {
			continue
		}
		var v T
		if err := json.Unmarshal(msg.Data, &v); err != nil {
			s.fault("message %d on %s: %v", msg.Sequence, msg.Subject, err)
			continue
		}
		f(msg, v)
	}
}

func isSnapshot(msg *jetstream.RawStreamMsg) bool {
	return strings.HasPrefix(msg.Subject, "agent.snapshot.")
}

// answered are the ids that a message answers.
func answered(out bus.Outbound) []string {
	if len(out.Merged) > 0 {
		return out.Merged
	}
	return []string{out.InReplyTo}
}

func (s *search) answer(msg *jetstream.RawStreamMsg, out bus.Outbound) {
	s.stored[out.ID]++
	if out.Kind == bus.KindNotice && !out.Final { // tells what a run waits for; it answers nothing
		return
	}
	s.published[out.ID] = true
	if id := msg.Header.Get(nats.MsgIdHdr); id != out.ID {
		s.fault("outbound %s has the Nats-Msg-Id %q", out.ID, id)
	}
	var texts []string
	for _, id := range answered(out) {
		in, ok := s.said[id]
		if !ok {
			s.fault("outbound %s answers %q, which nobody said", out.ID, id)
			continue
		}
		s.times[id]++
		texts = append(texts, in.text)
		if in.refusable && out.Kind == bus.KindError { // told as soon as there is no room
			s.refused[out.ID] = true
			continue
		}
		if in.n < s.last[in.who()] {
			s.fault("%s: message %d is answered after message %d", in.who(), in.n, s.last[in.who()])
		}
		s.last[in.who()] = max(s.last[in.who()], in.n)
		want := bus.KindReply
		if in.fatal {
			want = bus.KindError
		}
		if out.Kind != want || !out.Final || out.To != in.from || msg.Subject != bus.OutboundPrefix+in.channel {
			s.fault("outbound %s on %s to %s is of kind %s, final %v; want a final %s to %s", out.ID, msg.Subject, out.To, out.Kind, out.Final, want, in.who())
		}
	}
	if want := strings.Join(texts, "\n"); out.Kind == bus.KindReply && out.Text != want {
		s.fault("outbound %s says %q, want %q", out.ID, out.Text, want)
	}
}

func (s *search) commit(_ *jetstream.RawStreamMsg, c session.Commit) {
	for _, e := range c.Events {
		switch e.Type {
		case run.Started:
			s.ended[e.Run] += 0
			for _, in := range e.Inputs {
				if other, ok := s.inputs[in.ID]; ok && other != e.Run {
					s.fault("message %s is in the runs %s and %s", in.ID, other, e.Run)
				}
				s.inputs[in.ID] = e.Run
			}
		case run.Finished:
			s.ended[c.Run]++
		case run.Replied:
			if strings.HasPrefix(e.Reply.Subject, bus.OutboundPrefix) { // others are results for agents
				s.logged[e.Reply.ID] = true
			}
		}
	}
}

func (s *search) letter(letter bus.DeadLetter, dead map[string]bool) {
	in := bus.Inbound{}
	if err := json.Unmarshal(letter.Data(), &in); err != nil {
		s.fault("payload of dead letter %s: %v", letter.ID, err)
	}
	if letter.Reason == "" || !s.said[in.ID].fatal || dead[in.ID] {
		s.fault("dead letter %s of message %q, reason %q", letter.ID, in.ID, letter.Reason)
	}
	dead[in.ID] = true
}

// totals compares the streams with each other.
func (s *search) totals() {
	for _, id := range slices.Sorted(maps.Keys(s.ended)) {
		if n := s.ended[id]; n != 1 {
			s.fault("run %s has ended %d times", id, n)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.stored)) {
		if n := s.stored[id]; n != 1 {
			s.fault("outbound %s is stored %d times", id, n)
		}
		if s.published[id] && !s.logged[id] && !s.refused[id] {
			s.fault("outbound %s is in no log", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.logged)) {
		if !s.published[id] {
			s.fault("reply %s is in a log and was not published", id)
		}
	}
}
