package main

// Of the log of a session and what is published from it.
var logMutants = []mutant{
	{
		name: "no-fence", breaks: "a host that lost the session is refused",
		file: "session/log.go", pkg: "./session", tests: []string{"TestLogFences"}, ci: true,
		old: `bus.Header(expectedLastSubjectSequence, strconv`,
		new: `bus.Header("Agent-Not-Expected", strconv`,
	},
	{
		name: "id-forgotten", breaks: "an id that comes again is known",
		file: "session/dedupe.go", pkg: "./session", tests: []string{"TestLogRemembersIDs"}, ci: true,
		old: `	return s.ring[i].Seq, true`,
		new: `	return 0, false`,
	},
	{
		name: "snapshot-without-tail", breaks: "a log is its snapshot and what came after",
		file: "session/store.go", pkg: "./session", tests: []string{"TestSnapshotAfter64Commits"}, ci: true,
		old: `	if l.seq >= last.Seq {`,
		new: `	if l.seq > 0 {`,
	},
	{
		name: "snapshot-without-ids", breaks: "a snapshot remembers ids",
		file: "session/snapshot.go", pkg: "./session", tests: []string{"TestSnapshotAfter64Commits", "TestLogRemembersIDs"},
		old: `, State: l.state, IDs: l.ids.list(),`,
		new: `, State: l.state,`,
	},
	{
		name: "answer-forgotten-in-a-fresh-log", breaks: "a log that is opened knows what it has answered",
		file: "session/store.go", pkg: "./session", tests: []string{"TestLogRemembersIDs", "TestLogRemembersAnswers"}, ci: true,
		old: `		l.note(rec.Seq, len(rec.Data), c.Events)
`,
		new: `		l.note(rec.Seq, len(rec.Data), nil)
`,
	},
	{
		name: "snapshot-forgets-its-run", breaks: "a snapshot knows the inputs of the run under way",
		file: "session/store.go", pkg: "./session", tests: []string{"TestSnapshotOfAnUnfinishedRun"},
		old: `append(inputIDs(l.state.Run.Inputs), snap.Answers...)`,
		new: `snap.Answers`,
	},
	{
		name: "snapshot-forgets-answers", breaks: "a snapshot knows what has answered the run under way",
		file: "session/store.go", pkg: "./session", tests: []string{"TestSnapshotOfARunWithAnswers"},
		old: `append(inputIDs(l.state.Run.Inputs), snap.Answers...)`,
		new: `inputIDs(l.state.Run.Inputs)`,
	},
	{
		name: "snapshot-while-owed", breaks: "a snapshot is the fold of what is stored",
		file: "session/snapshot.go", pkg: "./session", tests: []string{"TestAddWhileACommitIsOwed"}, ci: true,
		old: `l.busy || l.owed > 0 || !due`,
		new: `l.busy || !due`,
	},
	{
		name: "snapshot-of-a-deleted-session", breaks: "a session that was deleted does not come back with its snapshot",
		file: "session/store.go", pkg: "./session", tests: []string{"TestLateSnapshotOfADeletedSession", "TestSnapshotAheadOfItsLog"},
		old: `if snap.Seq > last || snap.Seq < first.Seq {`,
		new: `if snap.Seq > last || first.Seq == 0 {`,
	},
	{
		name: "ambiguous-commit-taken-for-stored", breaks: "a commit that may be stored is looked up",
		file: "session/log.go", pkg: "./session", tests: []string{"TestCommitThatMayBeStored"}, ci: true,
		old: `rec.Header.Get(commitHeader) == c.id`,
		new: `rec.Header.Get(commitHeader) != ""`,
	},
	{
		name: "ambiguous-commit-taken-for-lost", breaks: "a commit that is stored is not made again",
		file: "session/log.go", pkg: "./session", tests: []string{"TestCommitThatMayBeStored"},
		old: `	case bus.Refused(err) && resent:
		go l.resolve(c)
`,
		new: ``,
	},
	{
		name: "commits-behind-a-failed-one", breaks: "behind a commit that is not stored none is",
		file: "session/log.go", pkg: "./session", tests: []string{"TestCommitsBehindAFailedOneAreRefused"}, ci: true,
		old: `		refused, l.queue, more = l.queue, nil, false
`,
		new: ``,
	},
	{
		name: "evicted-in-flight", breaks: "a session with a run in flight stays in memory",
		file: "session/inmemory/manager.go", pkg: "./session/inmemory", tests: []string{"TestInFlight"},
		old: `	switch {
	case e.work > 0:
	case e.doomed:`,
		new: `	switch {
	case e.work > 1:
	case e.doomed:`,
	},
	{
		name: "publish-not-sent-again", breaks: "what is not acknowledged is sent again",
		file: "bus/publishing/resend.go", pkg: "./bus/publishing", tests: []string{"TestPublishIsSentAgainAfterADisconnect"}, ci: true,
		old: `			due = append(due, pub)
`,
		new: ``,
	},
	{
		name: "older-echo-settles", breaks: "a repeated acknowledgement is not taken for that of another message",
		file: "bus/publishing/inflight.go", pkg: "./bus/publishing", tests: []string{"TestPublishKnowsAnEcho"}, ci: true,
		old: `	f.last++
`,
		new: `	f.last = max(f.last, 1)
`,
	},
	{
		name: "closing-settles-as-stored", breaks: "what is not stored when the host stops is not counted as sent",
		file: "bus/publishing/publisher.go", pkg: "./bus/publishing", tests: []string{"TestPublisherSettlesAllWhenItStops"},
		old: `pub.stored(0, pub.sends > 1, ErrClosed)`,
		new: `pub.stored(1, pub.sends > 1, nil)`,
	},
	{
		name: "outbox-loses-what-is-abandoned", breaks: "a reply that is not stored is not counted as sent",
		file: "agents/internal/outbox/outbox.go", pkg: "./agents/internal/outbox", tests: []string{"TestOutboxGivesUpWhatIsNotStored"},
		old: `		b.End(false)`,
		new: `		b.End(true)`,
	},
	{
		name: "replies-not-searched-for", breaks: "a reply that is stored is not published again",
		file: "agents/internal/unsent/unsent.go", pkg: "./agents/internal/unsent", tests: []string{"TestAdd"},
		old: `if missing[s.Reply.ID] || !bus.StoredSubject`,
		new: `if true || !bus.StoredSubject`,
	},
	{
		name: "rewritten-log-read-twice", breaks: "a log that was written again is read from there on",
		file: "session/store.go", pkg: "./session", tests: []string{"TestRewriteThatIsCutOff"},
		old: `		if rec.Header.Get(replacesHeader) != "" {
			l.restart()
		}
`,
		new: ``,
	},
	{
		name: "rewrite-without-fence", breaks: "what is committed while a log is written again is not lost",
		file: "session/overwrite.go", pkg: "./session", tests: []string{"TestRewriteIsFenced"},
		old: `	msg.Header.Set(expectedLastSubjectSequence, strconv.FormatUint(last, 10))
	ack, err := a.js.PublishMsg(ctx, msg)`,
		new: `	msg.Header.Set("Agent-Not-Expected", strconv.FormatUint(last, 10))
	ack, err := a.js.PublishMsg(ctx, msg)`,
	},
	{
		name: "agent-erased-as-a-person", breaks: "an agent that is called as a person who is erased stays",
		file: "internal/erase/redact.go", pkg: "./internal/erase", tests: []string{"TestRedact"},
		old: `	case v.senders && (name`,
		new: `	case (name`,
	},
	{
		name: "erasure-begins-at-zero", breaks: "an erasure that was cut off goes on with what it knew",
		file: "internal/erase/journal.go", pkg: "./internal/erase", tests: []string{"TestRunLeavesWhatIsNotDelivered"},
		old: `		e.take(j)`,
		new: `		_ = j`,
	},
	{
		name: "erased-before-delivery", breaks: "a reply for others is erased once it is delivered",
		file: "internal/erase/streams.go", pkg: "./internal/erase", tests: []string{"TestRunLeavesWhatIsNotDelivered"},
		old: `info.AckFloor.Stream < seq &&`,
		new: `info.AckFloor.Stream > seq &&`,
	},
	{
		name: "canary-left", breaks: "a canary that is not answered is taken back",
		file: "internal/probe/probe.go", pkg: "./internal/probe", tests: []string{"TestRunTakesBackWhatIsNotAnswered"},
		old: `p.at[Replied].IsZero() && p.seq > 0`,
		new: `p.at[Replied].IsZero() && p.seq > 1<<40`,
	},
	{
		name: "approval-of-another-agent-erased", breaks: "with an agent only what it has of a person is erased",
		file: "internal/erase/buckets.go", pkg: "./internal/erase", tests: []string{"TestEntriesOfOneAgent"},
		old: `	return e.ofAgent(key) && (e.r.ownID(key) || e.r.ownKey(yes.Session)`,
		new: `	return true && (e.r.ownID(key) || e.r.ownKey(yes.Session)`,
	},
}
