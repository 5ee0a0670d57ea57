package simulation

import (
	"strings"

	"agenthost/bus"
	"agenthost/internal/simulation/memnats"
)

// What hosts send to the server.
const (
	commits   = "commit"
	snapshots = "snapshot"
	replies   = "reply"
	acks      = "ack"
	extends   = "extend"
	notes     = "note" // in a bucket
	resets    = "reset"
	pulls     = "pull"
	reads     = "read"
	tasking   = "task"  // work for another agent, its result, or what is handed on to a partition
	timing    = "timer" // a time at which the server is to wake an agent
	others    = "other"
	anything  = "message"
)

func trafficOf(op *memnats.Op) string {
	s := op.Subject
	switch {
	case strings.HasPrefix(s, "agent.session."):
		return commits
	case strings.HasPrefix(s, "agent.snapshot."):
		return snapshots
	case strings.HasPrefix(s, "plugin.outbound."):
		return replies
	case strings.HasPrefix(s, bus.RoutePrefix), strings.HasPrefix(s, bus.PartPrefix):
		return tasking
	case strings.HasPrefix(s, bus.SchedulePrefix), strings.HasPrefix(s, bus.DuePrefix):
		return timing
	case strings.HasPrefix(s, "$JS.ACK.") && string(op.Data) == "+WPI":
		return extends
	case strings.HasPrefix(s, "$JS.ACK."):
		return acks
	case strings.HasPrefix(s, "$KV."):
		return notes
	case strings.HasPrefix(s, "$JS.API.CONSUMER.RESET."), strings.HasPrefix(s, "$JS.API.CONSUMER.UNPIN."):
		return resets
	case strings.HasPrefix(s, "$JS.API.CONSUMER.MSG.NEXT."):
		return pulls
	case strings.HasPrefix(s, "$JS.API.DIRECT.GET."), strings.HasPrefix(s, "$JS.API.STREAM.MSG.GET."):
		return reads
	}
	return others
}
