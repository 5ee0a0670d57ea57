package main

// Of lanes: who serves them, and what comes again.
var laneMutants = []mutant{
	{
		name: "miscount-is-believed", breaks: "what the server counts as acknowledged by mistake is delivered again",
		file: "bus/delivery/owed.go", pkg: "./bus/delivery", tests: []string{"TestServerMiscounts", "TestServerMiscountsForTheNext"}, ci: true,
		old: `	return first > 0 && first <= info.AckFloor.Stream
`,
		new: `	return first > 0 && first <= info.AckFloor.Stream && l == nil
`,
	},
	{
		name: "new-leader-is-believed", breaks: "what another leader counts as acknowledged is asked for again after the death of a host",
		file: "bus/delivery/mark.go", pkg: "./bus/delivery", tests: []string{"TestServerMiscountsAfterADeath"},
		old: `	return !served && note.ofAnother(info)`,
		new: `	return served && note.ofAnother(info)`,
	},
	{
		name: "quiet-lane-is-believed", breaks: "what another leader counts as acknowledged is asked for again where no message comes",
		file: "bus/delivery/mark.go", pkg: "./bus/delivery", tests: []string{"TestServerMiscountsAfterADeathInQuiet"},
		old: `	return note.Done < info.AckFloor.Stream && note.ofAnother(info)`,
		new: `	return note.Done < info.AckFloor.Stream && l == nil`,
	},
	{
		name: "copies-are-owed", breaks: "a copy that comes after its message was acknowledged is not asked for again",
		file: "bus/delivery/held.go", pkg: "./bus/delivery", tests: []string{"TestCopyIsNotOwed"},
		old: `	d.settled = d.own <= h.given`,
		new: `	d.settled = d.own == 0 && d.own <= h.given`,
	},
	{
		name: "status-of-a-sender", breaks: "a status that a sender writes is not taken for the server's",
		file: "bus/delivery/pulls.go", pkg: "./bus/delivery", tests: []string{"TestLaneOfForgedHeaders"}, ci: true,
		old: `	if round, ok := strings.CutPrefix(m.Subject, p.inbox); ok {`,
		new: `	if round, ok := strings.CutPrefix(m.Subject, p.inbox); ok || m.Header.Get("Status") != "" {`,
	},
	{
		name: "stale-requests-count", breaks: "what is said of a request before a restart is not taken for what is asked for now",
		file: "bus/delivery/pulls.go", pkg: "./bus/delivery", tests: []string{"TestPulls"},
		old: `	if stale {`,
		new: `	if stale && p == nil {`,
	},
	{
		name: "no-reset-at-takeover", breaks: "after a takeover the old comes before the new",
		file: "bus/delivery/takeover.go", pkg: "./bus/delivery", tests: []string{"TestLaneTakeover"}, ci: true,
		old: `return t.first.Sequence.Consumer > 1 || t.pin == l.pin`,
		new: `return false`,
	},
	{
		name: "reset-among-deliveries", breaks: "of a consumer with replicas that is reset nothing is lost",
		file: "bus/delivery/receive.go", pkg: "./bus/delivery", tests: []string{"TestLaneStopsAskingBeforeAReset"}, ci: true,
		old: `if l.resets(t) {`,
		new: `if false {`,
	},
	{
		name: "forgotten-deliveries-unnoticed", breaks: "what a server has forgotten is asked for again",
		file: "bus/delivery/asking.go", pkg: "./bus/delivery", tests: []string{"TestLaneOfAServerThatForgets"}, ci: true,
		old: `if l.forgotten(ctx) {`,
		new: `if false {`,
	},
	{
		name: "tried-forgotten-at-takeover", breaks: "what an owner before may have worked on counts as tried",
		file: "bus/delivery/takeover.go", pkg: "./bus/delivery", tests: []string{"TestLaneTakeover", "TestLaneReleaseAndThenDeath"}, ci: true,
		old: `l.pin, l.tried, l.handed, l.doubted = t.pin, note.Tried, handed, doubted`,
		new: `l.pin, l.tried, l.handed, l.doubted = t.pin, 0, handed, doubted`,
	},
	{
		name: "no-distrust", breaks: "a server that died with its host is not believed",
		file: "bus/delivery/takeover.go", pkg: "./bus/delivery", tests: []string{"TestLaneDistrustsAServerThatDiedWithItsHost"}, ci: true,
		old: `	note.Tried = max(note.Tried, newest)
`,
		new: `	_ = newest
`,
	},
	{
		name: "no-doubt-at-takeover", breaks: "what an owner that died may have worked on is doubtful, whatever the server says",
		file: "bus/delivery/takeover.go", pkg: "./bus/delivery", tests: []string{"TestLaneDoubtsWhatWasNotLetGo"},
		old: `	if err == nil && note.Pin != "" && note.Pin != t.pin {`,
		new: `	if false {`,
	},
	{
		name: "handover-not-noted", breaks: "what a host hands over as it stops is not held against the message",
		file: "bus/delivery/handover.go", pkg: "./bus/delivery", tests: []string{"TestLaneRelease"},
		old: `		note.Handed = info.Delivered.Stream
`,
		new: ``,
	},
	{
		name: "restart-leaves-the-pin", breaks: "a host that restarts takes its lanes back at once",
		file: "bus/delivery/takeover.go", pkg: "./bus/delivery", tests: []string{"TestLaneRestart"},
		old: `		if err := l.unpin(ctx); err != nil {
			return err
		}
`,
		new: ``,
	},
	{
		name: "stop-leaves-the-pin", breaks: "a host that stops hands its lanes over at once",
		file: "bus/delivery/handover.go", pkg: "./bus/delivery", tests: []string{"TestLaneRelease"}, ci: true,
		old: `l.leaveNote(ctx, info), l.unpin(ctx))`,
		new: `l.leaveNote(ctx, info))`,
	},
	{
		name: "another-owner-unpinned", breaks: "a lane that another host serves is left to it",
		file: "bus/delivery/takeover.go", pkg: "./bus/delivery", tests: []string{"TestLaneIsLeftToItsOwner"}, ci: true,
		old: `(!l.mine(note) || note.Pin != pin)`,
		new: `false`,
	},
	{
		name: "namesake-unpinned", breaks: "a lane that a host of the same name serves is left to it",
		file: "bus/delivery/takeover.go", pkg: "./bus/delivery", tests: []string{"TestLaneOfANamesake"},
		old: ` && (l.cfg.Namesake == nil || !l.cfg.Namesake())`,
		new: ``,
	},
	{
		name: "lost-deliveries-unnoticed", breaks: "deliveries that were lost come before newer ones",
		file: "bus/delivery/receive.go", pkg: "./bus/delivery", tests: []string{"TestLaneNoticesLostDeliveries"}, ci: true,
		old: `	return count != l.last+1`,
		new: `	return false`,
	},
	{
		name: "delivered-before-the-reset", breaks: "what was delivered before a reset comes again in order",
		file: "bus/delivery/receive.go", pkg: "./bus/delivery", tests: []string{"TestLaneBeginsWithTheFirstMessageAfterAReset"}, ci: true,
		old: `	if l.resetting && count != 1 {
		return // delivered before the reset; it comes again, in order
	}
`,
		new: ``,
	},
	{
		name: "held-not-extended", breaks: "what a host holds is not delivered to another",
		file: "bus/delivery/held.go", pkg: "./bus/delivery", tests: []string{"TestLaneHoldsForAsLongAsItTakes"}, ci: true,
		old: `		for _, d := range h.list() {`,
		new: `		for _, d := range h.list()[:0] {`,
	},
	{
		name: "first-agent-acknowledges", breaks: "a message is acknowledged when the last agent is done with it",
		file: "bus/delivery/delivery.go", pkg: "./bus/delivery", tests: []string{"TestLaneWaitsForEveryHolder"}, ci: true,
		old: `	if d.holders.Add(-1) > 0 {
		return
	}
`,
		new: `	d.holders.Add(-1)
`,
	},
	{
		name: "left-is-acknowledged", breaks: "what an agent gives up comes again",
		file: "bus/delivery/delivery.go", pkg: "./bus/delivery", tests: []string{"TestLaneDeliversAgainWhatWasLeft"}, ci: true,
		old: `	d.left.Store(true)
`,
		new: ``,
	},
	{
		name: "taken-before-the-reset", breaks: "nothing is taken out of order while a lane is about to reset its consumer",
		file: "bus/delivery/receive.go", pkg: "./bus/delivery", tests: []string{"TestLaneNoticesAResetOfWhichItDoesNotKnow"}, ci: true,
		old: `			l.ending, l.last = true, outOfOrder
`,
		new: ``,
	},
	{
		name: "delivered-twice-at-once", breaks: "what is held and comes again is not worked on twice",
		file: "bus/delivery/held.go", pkg: "./bus/delivery", tests: []string{"TestLaneIsUnpinned", "TestLaneGoesOnAfterACut"},
		old: `	return ok
}
`,
		new: `	return false && ok
}
`,
	},
	{
		name: "later-before-the-rest-has-come", breaks: "later work waits until the lane has handed out the earlier",
		file: "bus/delivery/progress.go", pkg: "./bus/delivery", tests: []string{"TestLaneTellsHowFarItIs"}, ci: true,
		old: `	if p.passed >= seq {`,
		new: `	if true || p.passed >= seq {`,
	},
	{
		name: "lanes-changed-while-served", breaks: "the number of lanes changes only while the fleet is stopped",
		file: "bus/delivery/lanes.go", pkg: "./bus/delivery", tests: []string{"TestSetLanesRefusesAnIdleFleet", "TestSetLanesRefusesWhileRoutesAreServed", "TestSetLanesRefuses"},
		old: `		if pinnedClient(lane) != "" || lane.NumWaiting > 0 {`,
		new: `		if pinnedClient(lane) != "" && lane.NumWaiting > 1<<20 {`,
	},
	{
		name: "loose-binding", breaks: "a binding takes its own subject and no other",
		file: "agents/internal/lanes/bindings.go", pkg: "./agents/internal/lanes", tests: []string{"TestDirectoryFindsTakers"},
		old: `	return joined(d.bound[subject], d.wide[wideChannel(subject)])`,
		new: `	channel, _, _ := bus.Channel(subject)
	return joined(append(slices.Clip(d.bound[subject]), d.bound[bus.InboundPrefix+channel]...), d.wide[wideChannel(subject)])`,
	},
	{
		name: "stray-given-up-at-once", breaks: "a message for an agent that is not known waits for one",
		file: "agents/internal/lanes/feeder.go", pkg: "./host", tests: []string{"TestTaskOfAnAgentThatIsConfiguredNowhere", "TestRollingChange", "TestRollingShare"},
		old: `	wait := strayFor
`,
		new: `	wait := time.Duration(0)
`,
	},
}
