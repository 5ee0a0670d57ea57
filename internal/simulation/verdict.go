package simulation

import (
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/internal/agenthost-chaos/check"
	"agenthost/internal/simulation/memnats"

	"github.com/nats-io/nats.go"
)

// violations holds what the hosts have written against what they were asked.
func (w *world) violations() []string {
	f := check.Facts{ByCall: w.effects.byCall, ByPurpose: w.effects.byPurpose, Approved: []string{"bill." + signVerb}}
	for _, in := range w.said {
		f.Inputs = append(f.Inputs, check.Input{
			ID: in.Name, Session: in.Session, Channel: in.Agent, From: in.Person, N: in.N, Queue: queues[in.Agent], Text: in.Text, Seq: in.seq,
			Sent: in.at, Accepted: in.at, Order: in.Order, Changes: in.Changes, Withdraws: in.Removes,
		})
	}
	f.Streams = check.Streams{
		Outbound: w.messages(bus.OutboundStream, "plugin.outbound."), Sessions: w.messages(bus.SessionsStream, ""), Dead: w.messages(bus.DeadStream, ""),
		Events: w.messages(bus.EventsStream, ""), Routes: w.messages(bus.RoutesStream, ""), Due: w.messages(bus.SchedulesStream, bus.DuePrefix),
	}
	return check.Check(f).Violations
}

func (w *world) messages(stream, prefix string) (list []check.Message) {
	for _, m := range w.server.Messages(stream) {
		if strings.HasPrefix(m.Subject, prefix) {
			list = append(list, check.Message{Seq: m.Seq, Subject: m.Subject, Header: decoded(m), Data: m.Data, Time: m.Time})
		}
	}
	return list
}

func decoded(m *memnats.Message) nats.Header {
	if len(m.Header) == 0 {
		return nats.Header{}
	}
	h, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		panic(err) // a host has written it
	}
	return h
}

// A Result is what came of a simulation.
type Result struct {
	Violations []string
	Fired      []Fault
	Steps      int
	Lasted     time.Duration // of its own time
	Trace      uint64
	Inputs     int
	Commits    int
}

// Dump is all that was written to a stream.
func (w *world) dump(stream string) {
	if w.lines == nil {
		return
	}
	for _, m := range w.server.Messages(stream) {
		w.lines(m.Subject + " " + string(m.Data) + "\n")
	}
}

// Add adds what can be counted of another.
func (r *Result) Add(other Result) {
	r.Steps += other.Steps
	r.Lasted += other.Lasted
	r.Inputs += other.Inputs
	r.Commits += other.Commits
}
