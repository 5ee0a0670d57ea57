// Package permissions lists the least that NATS must allow each kind of client.
package permissions

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/bus/streams"
)

// A Role is the least that NATS must allow one kind of client on a server that
// it shares with others.
type Role struct {
	Name        string
	InboxPrefix string // of the subjects on which it gets its answers
	Publish     []string
	Subscribe   []string
	Replies     bool     // to requests, wherever they want their answer
	Notes       []string // what this list cannot know
}

// A Fleet is what the roles of a fleet depend on.
type Fleet struct {
	Domain   string   // of JetStream
	Agents   []string // programs give them work
	Subjects []string // of hooks and events, that hosts publish on and subscribe to
}

var roleName = regexp.MustCompile(`^(?:(host|cli|auditor|caller)|plugin:([a-z0-9_-]{1,63})(?:\.([a-z0-9_-]{1,63}))?|program:([a-z0-9_-]{1,63})|hook:([^\s*>.]+(?:\.[^\s*>.]+)*))$`)

// RoleOf returns the role called name: host, cli, auditor, caller, plugin:CHANNEL,
// plugin:CHANNEL.INSTANCE, program:AGENT or hook:SUBJECT.
func RoleOf(name string, f Fleet) (Role, error) {
	m := roleName.FindStringSubmatch(name)
	if m == nil {
		return Role{}, fmt.Errorf("role %q: want host, cli, auditor, caller, plugin:CHANNEL, plugin:CHANNEL.INSTANCE, program:AGENT or hook:SUBJECT", name)
	}
	var r Role
	switch {
	case m[1] == "host":
		r = hostRole(f)
	case m[1] == "cli":
		r = cliRole()
	case m[1] == "auditor":
		r = auditorRole()
	case m[1] == "caller":
		r = callerRole()
	case m[2] != "":
		r = pluginRole(m[2], m[3])
	case m[5] != "":
		r = hookRole(m[5])
	default:
		r = programRole(m[4])
	}
	r.Name = name
	r.Subscribe = append(r.Subscribe, r.InboxPrefix+".>")
	if f.Domain != "" {
		for i, s := range r.Publish {
			if rest, ok := strings.CutPrefix(s, bus.OwnAPI); ok {
				r.Publish[i] = "$JS." + f.Domain + ".API." + rest
			}
		}
	}
	return r, nil
}

// WithStreams adds what joins the stream of a session's words.
func (r Role) WithStreams() Role {
	r.Publish = append(r.Publish, "agenthost.stream")
	r.Subscribe = append(r.Subscribe, bus.StreamPrefix+"*.*")
	return r
}

func pluginRole(channel, instance string) Role {
	to, name := channel, channel
	if instance != "" {
		to, name = to+"."+instance, name+"-"+instance
	}
	consumer := "plugin-" + name
	filter := bus.OutboundPrefix + to
	return Role{
		InboxPrefix: "_INBOX_plugin_" + strings.ReplaceAll(to, ".", "_"),
		// The stream's description is what most clients ask for before its consumers.
		Publish: slices.Concat([]string{bus.InboundPrefix + to}, api("INFO", "STREAM.INFO."+bus.OutboundStream,
			"CONSUMER.CREATE."+bus.OutboundStream+"."+consumer+"."+filter,
			"CONSUMER.INFO."+bus.OutboundStream+"."+consumer,
			"CONSUMER.MSG.NEXT."+bus.OutboundStream+"."+consumer,
		), acks(bus.OutboundStream, consumer), []string{"$O." + bus.FilesBucket + ".>"}, readFiles()),
		Subscribe: []string{filter},
		Notes:     []string{"the durable consumer is " + consumer + ", with the one filter " + filter},
	}
}

func programRole(agent string) Role {
	prefix := "_INBOX_program_" + agent
	return Role{
		InboxPrefix: prefix,
		Publish:     []string{bus.RoutePrefix + agent},
		Notes:       []string{"reply_to is a subject below " + prefix},
	}
}

// hookRole is for responders of remote hooks. They read what does not fit into a request.
func hookRole(subject string) Role {
	return Role{
		InboxPrefix: "_INBOX_hook_" + strings.ReplaceAll(subject, ".", "_"),
		Publish:     append(api("INFO"), readFiles()...),
		Subscribe:   []string{subject},
		Replies:     true,
	}
}

// callerRole is for callers of the agent protocol. They answer on subjects that only
// hosts listen on.
func callerRole() Role {
	return Role{
		InboxPrefix: "_INBOX_caller",
		Publish:     []string{"agents.prompt.>", "agents.status.>", "agents.query.>", "$SRV.PING.agents", "$SRV.PING.agents.>", "$SRV.INFO.agents", "$SRV.INFO.agents.>"},
		Subscribe:   []string{"agents.hb.>"},
	}
}

func auditorRole() Role {
	publish := append(api("INFO", "STREAM.NAMES", "STREAM.LIST"), pauses()...)
	for _, stream := range append(hostStreams(), hostBuckets()...) {
		if stream != lanesStream { // has the key of the fleet
			publish = append(publish, readOf(stream)...)
		}
	}
	return Role{
		InboxPrefix: "_INBOX_auditor",
		Publish:     append(publish, "agenthost.status", "agenthost.runs", "agenthost.channels", "$SRV.PING.>", "$SRV.INFO.>", "$SRV.STATS.>", "$SRV.PING", "$SRV.INFO", "$SRV.STATS"),
		Subscribe:   []string{bus.EventsPrefix + ">", bus.StreamPrefix + "*.*"},
	}
}

// lanesStream is behind the bucket with the key by which hosts and commands sign. Who can read
// all of it, by whatever way, can speak for an agent.
const lanesStream = "KV_" + bus.LanesBucket

// pauses is what reads the pauses in lanesStream, and none of its other entries. Its
// description names their keys.
func pauses() []string {
	return api("STREAM.INFO."+lanesStream, "DIRECT.GET."+lanesStream+".$KV."+bus.LanesBucket+".pause.>")
}

func cliRole() Role {
	r := auditorRole()
	r.InboxPrefix = "_INBOX_cli"
	r.Publish = slices.Concat(r.Publish, readOf(lanesStream), []string{
		bus.RoutePrefix + "*", bus.InboundPrefix + ">", // send, and dead letters that are sent again
		"agent.session.>", "agent.snapshot.>", // forks and deletions
		"agenthost.*", "agenthost.sessions.*", "agenthost.dead.*", "agenthost.approvals.*", "agenthost.schedules.*", "agenthost.memory.*", "agenthost.pairings.*",
		"agenthost.tokens.*", "agenthost.audit.*",
		"$KV." + bus.AllowedBucket + ".>", "$KV." + bus.WaitingBucket + ".>", "$KV." + bus.MemoryBucket + ".>", "$KV." + bus.SchedulesBucket + ".>",
		"$KV." + bus.LanesBucket + ".pause.>", "$KV." + bus.PairingsBucket + ".>", "$KV." + bus.TokensBucket + ".>", bus.AuditPrefix + "*",
		"$KV." + bus.RequestsBucket + ".>", "$KV." + bus.ChannelsBucket + ".>", "$O." + bus.FilesBucket + ".>", // erase, as what follows
	}, erasing())
	r.Subscribe = append(r.Subscribe, bus.OutboundPrefix+bus.DoorProbe)
	r.Notes = []string{
		"agenthost lanes changes the stream " + bus.InboundStream + ": it runs with what a host may do",
		"agenthost backup and restore read and make whole streams: they run as an administrator of the account",
	}
	return r
}

// erasing is what deletes single messages and entries, and sessions with all that is theirs.
func erasing() []string {
	subjects := api("STREAM.PURGE."+bus.SessionsStream, "STREAM.PURGE."+bus.SchedulesStream, "STREAM.MSG.DELETE.OBJ_"+bus.FilesBucket)
	for _, stream := range streams.Names() {
		subjects = append(subjects, api("STREAM.MSG.DELETE."+stream)...)
	}
	for _, bucket := range []string{
		bus.WaitingBucket, bus.AllowedBucket, bus.MemoryBucket, bus.SchedulesBucket, bus.PairingsBucket, bus.RequestsBucket, bus.ChannelsBucket, bus.SpendBucket,
	} {
		subjects = append(subjects, api("STREAM.PURGE.KV_"+bucket)...)
	}
	return subjects
}

func hostRole(f Fleet) Role {
	publish := slices.Concat([]string{"plugin.>", "agent.>", "agenthost.>", "$SRV.>", "_INBOX.>", "_INBOX_host.>", "_INBOX_cli.>", "_INBOX_caller.>", "agents.hb.>"},
		api("INFO", "STREAM.NAMES", "STREAM.LIST"))
	for _, agent := range f.Agents {
		publish = append(publish, "_INBOX_program_"+agent+".>")
	}
	for _, stream := range append(hostStreams(), hostBuckets()...) {
		publish = append(publish, api("STREAM.*."+stream, "STREAM.MSG.*."+stream, "DIRECT.GET."+stream, "DIRECT.GET."+stream+".>",
			"CONSUMER.*."+stream, "CONSUMER.*."+stream+".>", "CONSUMER.*.*."+stream+".>")...)
		publish = append(publish, "$JS.FC."+stream+".>")
		publish = append(publish, acks(stream, "")...)
	}
	for _, bucket := range streams.BucketNames() {
		publish = append(publish, "$KV."+bucket+".>")
	}
	publish = append(publish, "$O."+bus.FilesBucket+".>")
	return Role{
		InboxPrefix: "_INBOX_host",
		Publish:     append(publish, f.Subjects...),
		Subscribe:   append([]string{"plugin.>", "agent.>", "agenthost.>", "$SRV.>", "agents.>", "$JS.EVENT.ADVISORY.STREAM.>"}, f.Subjects...),
		Replies:     true,
		Notes:       []string{"add the endpoints of services that are tools, and STREAM.INFO and CONSUMER of streams of your own that events and heartbeats watch"},
	}
}

func hostStreams() []string {
	return []string{bus.InboundStream, bus.OutboundStream, bus.RoutesStream, bus.SchedulesStream, bus.SessionsStream, bus.EventsStream, bus.DeadStream, bus.AuditStream, bus.UpgradeStream}
}

// hostBuckets are the streams behind the buckets.
func hostBuckets() []string {
	names := []string{"OBJ_" + bus.FilesBucket}
	for _, bucket := range streams.BucketNames() {
		names = append(names, "KV_"+bucket)
	}
	return names
}

func api(subjects ...string) []string {
	whole := make([]string, len(subjects))
	for i, s := range subjects {
		whole[i] = bus.OwnAPI + s
	}
	return whole
}

// acks are the subjects of acknowledgements, with and without the domain and the
// account; of all consumers of a stream, or of one.
func acks(stream, consumer string) []string {
	tail := stream + "." + strings.TrimPrefix(cmp.Or(consumer, "")+".>", ".")
	return []string{"$JS.ACK." + tail, "$JS.ACK.*.*." + tail}
}

// readOf is what reads a stream, but by none of the consumers of hosts, whose
// messages would be missing there.
func readOf(stream string) []string {
	return append(api("STREAM.INFO."+stream, "STREAM.MSG.GET."+stream, "DIRECT.GET."+stream, "DIRECT.GET."+stream+".>",
		"CONSUMER.NAMES."+stream, "CONSUMER.LIST."+stream, "CONSUMER.INFO."+stream+".*"), reading(stream)...)
}

// reading is what lists a stream by consumers. It is not for streams whose work
// hosts and plugins take by consumers of their own: who may ask any consumer for
// messages takes them away there.
func reading(stream string) []string {
	if slices.Contains([]string{bus.InboundStream, bus.OutboundStream, bus.RoutesStream, bus.SchedulesStream, bus.EventsStream}, stream) {
		return nil
	}
	return append(api("CONSUMER.CREATE."+stream, "CONSUMER.CREATE."+stream+".>", "CONSUMER.MSG.NEXT."+stream+".*", "CONSUMER.DELETE."+stream+".*"),
		"$JS.FC."+stream+".>")
}

// readFiles is what reads the object store.
func readFiles() []string {
	const stream = "OBJ_" + bus.FilesBucket
	return append(api("STREAM.INFO."+stream, "STREAM.MSG.GET."+stream, "DIRECT.GET."+stream+".>",
		"CONSUMER.CREATE."+stream+".>", "CONSUMER.DELETE."+stream+".*"), "$JS.FC."+stream+".>")
}
