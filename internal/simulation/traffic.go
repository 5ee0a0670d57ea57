package simulation

import (
	"strings"

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
