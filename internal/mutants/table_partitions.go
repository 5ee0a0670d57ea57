package main

// Of the partitions of an agent, and of logs that are read from a damaged copy.
var partitionMutants = []mutant{
	{
		name: "partition-moves-at-once", breaks: "a session moves once its former partition has done what it was given",
		file: "agents/internal/partitions/division.go", pkg: "./agents/engine", tests: []string{"TestSessionsMoveWhenTheirPartitionIsDone"},
		old: `	return number, l.Generation, busy
`,
		new: `	return number, l.Generation, busy && false
`,
	},
	{
		name: "partition-names-its-own-sequence", breaks: "what is handed on is what it was: its log names where it came from",
		file: "bus/delivery/handedon.go", pkg: "./agents/engine", tests: []string{"TestPartitions"},
		old: `	d.stream, d.Subject, d.Seq, d.Stored, d.NotBefore = was.Stream, was.Subject, was.Seq, was.Stored, was.NotBefore
`,
		new: `	d.stream, d.Subject, d.Stored, d.NotBefore = was.Stream, was.Subject, was.Stored, was.NotBefore
`,
	},
	{
		name: "former-layout-is-taken", breaks: "nothing is handed on by a layout that another host has changed",
		file: "agents/internal/partitions/fence.go", pkg: "./agents/internal/partitions", tests: []string{"TestFormerLayoutIsRefused"},
		old: `		if f.generation > generation {
			return errLaterLayout
		}
		return d.writeNext`,
		new: `		if f.generation < 0 {
			return errLaterLayout
		}
		return d.writeNext`,
	},
	{
		name: "partitions-change-with-the-next-message", breaks: "the number of partitions changes while no message comes",
		file: "agents/internal/lanes/change.go", pkg: "./agents/engine", tests: []string{"TestPartitionsOfAnAgentAtRestChange"},
		old: `		if s.servesLane(a.ID()) {
`,
		new: `		if s.servesLane(a.ID()) && ctx.Err() != nil {
`,
	},
	{
		name: "former-partitions-are-placed", breaks: "partitions that have nothing more to do do not count as load",
		file: "agents/internal/lanes/spread.go", pkg: "./agents/engine", tests: []string{"TestFormerPartitionsAreNotPlaced"},
		old: `		if f.former() {
`,
		new: `		if f.former() && f.lane == nil {
`,
	},
	{
		name: "gap-in-a-copy", breaks: "what a damaged copy of a log lacks is read from the leader",
		file: "session/gap.go", pkg: "./session", tests: []string{"TestOpenPastAGap"},
		old: `	return err != nil || expected == l.seq ||`,
		new: `	return err != nil || expected != l.seq || expected == l.seq ||`,
	},
	{
		name: "log-read-before-believed", breaks: "a log that was read before is read again where another host has written to it",
		file: "session/log.go", pkg: "./session", tests: []string{"TestIsCurrent"},
		old: ` && last.Seq == l.seq
`,
		new: ` && last.Seq >= l.seq
`,
	},
	{
		name: "chain-of-any-length", breaks: "a log whose end is near is read at once, and not message by message",
		file: "session/chain.go", pkg: "./session", tests: []string{"TestOpenInAQuietStream"}, ci: true,
		old: `uint64(len(list))*readCost > span`,
		new: `span == 0 && false`,
	},
	{
		name: "held-reply-without-asking", breaks: "a host that stood still asks whose the account is before it delivers",
		file: "plugins/lease.go", pkg: "./plugins", tests: []string{"TestHeldRepliesWaitForTheOwner"},
		old: `	l.until = asked.Add(leaseFor)
`,
		new: `	l.until = asked.Add(1000 * leaseFor)
`,
	},
	{
		name: "lost-lane-takes-all", breaks: "a chat that loses the lane of its reminders keeps its messages",
		file: "agents/internal/conversation/release.go", pkg: "./agents/engine", tests: []string{"TestMessagesStayWhenAReminderIsLost"},
		old: `	all = len(c.deliveries()) == 0
`,
		new: `	all = true
`,
	},
	{
		name: "handed-on-from-a-lost-lane", breaks: "nothing is handed on from a lane that another host serves",
		file: "agents/internal/partitions/division.go", pkg: "./agents/internal/partitions", tests: []string{"TestNothingIsHandedOnFromALostLane"}, ci: true,
		old: `	if it.Delivery.LeaveIfLost() {
		return nil
	}
	if number < 0 {`,
		new: `	if number < 0 {`,
	},
	{
		name: "kept-though-it-came-again", breaks: "what a host holds again, as its lane has come back, stays",
		file: "bus/delivery/held.go", pkg: "./bus/delivery", tests: []string{"TestLeaveIfLost"}, ci: true,
		old: `d.pin, d.settled = pin, false`,
		new: `d.settled = false`,
	},
	{
		name: "partition-passed-too-early", breaks: "an edit that the log has waits for the message that it changes, though newer ones of others come first",
		file: "bus/delivery/handedon.go", pkg: "./bus/delivery", tests: []string{"TestLaneOfAPartitionTellsHowFarItIs"},
		old: `	case own < l.tried:
		return 0
`,
		new: ``,
	},
}
