package backup

import (
	"slices"

	"agenthost/bus"
)

// A step is the copy of one stream.
type step struct {
	stream string
	// newest is the filter of subjects of which the newest message has to be there: one
	// that was replaced while the stream was copied is added.
	newest string
	// tail adds what the stream gets until all others are copied.
	tail bool
	// named: what has no id of its own is known by its sequence in this stream. The restored
	// stream goes on after all that the logs, which are copied later, may know.
	named bool
}

// order is that of the copies. Streams go on changing meanwhile, and no two are of the same
// instant, so what a message stands on is copied after it: a reply before the log that it
// is from, the log before the message that it answers. Whatever is in a copy then has its
// cause in a later one.
//
// The other direction is left open: a message may lack its answer, a log its replies. It is
// what a crash leaves behind, and mended as after one, by the lanes: they are restored to
// where they were before the first copy was made. What was acknowledged by then has had
// all its effects stored; all the rest is delivered again and counts as tried, so that its
// session is looked at, goes on where its log ends, and publishes what the streams lack
// under the ids that it had.
//
//   - AGENT_FILES is copied first, as files are deleted that nothing needs any more, and
//     once more at the end, for those of logs and messages that are copied later.
//   - AGENT_OUTBOUND comes before the logs: no reply without its run, which would run and
//     answer a second time.
//   - AGENT_ROUTES and AGENT_SCHEDULES have both inputs and outputs of runs. They come before
//     the logs as well: a task that no log knows would be worked on twice. An input that they
//     lack comes again, under its id, from the run, or the schedule, that sent it.
//   - AGENT_WAITING comes before the logs: an entry for nothing is dropped, while a question
//     without an entry could not be answered.
//   - Effects of tools come after the logs that say they happened: notes, standing approvals,
//     reminders, money spent.
//   - AGENT_CHANNELS and AGENT_REQUESTS, which say what has been taken in, come before
//     AGENT_INBOUND, where it is.
var order = []step{
	{stream: "OBJ_" + bus.FilesBucket, tail: true},
	bucket(bus.LanesBucket),
	{stream: bus.OutboundStream},
	bucket(bus.WaitingBucket),
	bucket(bus.ChannelsBucket),
	bucket(bus.RequestsBucket),
	{stream: bus.RoutesStream, named: true},
	{stream: bus.SchedulesStream, named: true, newest: bus.SchedulePrefix + ">"},
	{stream: bus.SessionsStream},
	{stream: bus.InboundStream},
	bucket(bus.SchedulesBucket),
	bucket(bus.HeartbeatsBucket),
	bucket(bus.MemoryBucket),
	bucket(bus.AllowedBucket),
	bucket(bus.PairingsBucket),
	bucket(bus.SpendBucket),
	bucket(bus.TokensBucket),
	{stream: bus.DeadStream},
	{stream: bus.EventsStream},
	{stream: bus.AuditStream},
}

func bucket(name string) step { return step{stream: "KV_" + name, newest: ">"} }

func stepOf(stream string) step {
	return order[slices.IndexFunc(order, func(s step) bool { return s.stream == stream })]
}

// names are all streams that a backup may have.
func names() (list []string) {
	for _, s := range order {
		list = append(list, s.stream)
	}
	return list
}
