package streams

import (
	"slices"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

const day = 24 * time.Hour

// streamConfig is that of one stream.
func streamConfig(name string, replicas int) jetstream.StreamConfig {
	all := streamConfigs(replicas)
	return all[slices.IndexFunc(all, func(c jetstream.StreamConfig) bool { return c.Name == name })]
}

// streamConfigs are the streams as a new fleet has them.
func streamConfigs(replicas int) []jetstream.StreamConfig {
	base := func(name string, age time.Duration, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Description: bus.Description, Subjects: subjects, Replicas: replicas, MaxAge: age,
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, AllowDirect: true,
			Duplicates: bus.DedupeWindow,
		}
	}
	inbound := base(bus.InboundStream, 3*day, "plugin.inbound.>")
	inbound.Discard = jetstream.DiscardNew                                             // a plugin gets an error when the stream is full
	routes := base(bus.RoutesStream, 7*day, bus.RoutePrefix+"*", bus.PartPrefix+"*.*") // programs write to it: neither schedules nor rollup
	routes.AllowMsgTTL = true
	schedules := base(bus.SchedulesStream, 7*day, bus.DuePrefix+"*", bus.SchedulePrefix+">")
	schedules.AllowMsgSchedules, schedules.AllowRollup, schedules.AllowMsgTTL = true, true, true
	sessions := base(bus.SessionsStream, 0, "agent.session.>", "agent.snapshot.>")
	sessions.AllowRollup = true
	events := base(bus.EventsStream, 7*day, "agent.events.>")
	events.AllowMsgTTL = true
	outbound := base(bus.OutboundStream, 3*day, "plugin.outbound.>", bus.OwnerPrefix+">")
	outbound.AllowMsgTTL = true // a claim to own an account is of no use later
	return []jetstream.StreamConfig{
		inbound, outbound, routes, schedules, sessions, events,
		base(bus.DeadStream, 30*day, "agent.dead.>"),
		base(bus.AuditStream, 400*day, bus.AuditPrefix+">"),
	}
}

// Names are the streams.
func Names() (names []string) {
	for _, c := range streamConfigs(1) {
		names = append(names, c.Name)
	}
	return names
}
