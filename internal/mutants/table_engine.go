package main

// Of the runtime of an agent: what is committed, published and acknowledged when.
var engineMutants = []mutant{
	{
		name: "broken-log-tried-on", breaks: "a log that takes nothing any more is opened again",
		file: "agents/internal/conversation/take.go", pkg: "./agents/internal/conversation", tests: []string{"TestTakeEndsWithABrokenLog"},
		old: `		if err := journal.Err(); err != nil {`,
		new: `		if err := journal.Err(); false && err != nil {`,
	},
	{
		name: "ack-before-commit", breaks: "a message is acknowledged after its commit",
		file: "agents/internal/runner/commit.go", pkg: "./agents/engine", tests: []string{"TestUncommittedRunOutlivesACrash"}, ci: true,
		old: `	crash.Point("before-commit")
`,
		new: `	crash.Point("before-commit")
	for _, it := range t.Items {
		it.Delivery.Done()
	}
`,
	},
	{
		name: "ack-before-reply", breaks: "a message is acknowledged after its reply is stored",
		file: "agents/internal/conversation/view.go", pkg: "./agents/engine", tests: []string{"TestUnpublishedReplyOutlivesACrash"}, ci: true,
		old: `	wait := message.Delivered(t.Items) < len(t.Inputs)
`,
		new: `	wait := message.Delivered(t.Items) < len(t.Inputs)
	c.settle(message.DeliveriesOf(t.Items))
`,
	},
	{
		name: "ack-before-spill", breaks: "what is spilled is acknowledged after its commit",
		file: "agents/internal/conversation/spill.go", pkg: "./agents/engine", tests: []string{"TestUncommittedInputBehindAQuestionOutlivesACrash"}, ci: true,
		old: `	crash.Point("before-spill")
`,
		new: `	crash.Point("before-spill")
	for _, it := range batch {
		it.Delivery.Done()
		it.Delivery = nil
	}
`,
	},
	{
		name: "no-anchor-of-a-spill", breaks: "a message stands for what only the log has",
		file: "agents/internal/conversation/spill.go", pkg: "./agents/engine", tests: []string{"TestPausedMessagesOutliveACrash"}, ci: true,
		old: `		if c.anchor == nil && !c.suspended {
			c.anchor = it.Delivery
		} else if`,
		new: `		if`,
	},
	{
		name: "no-anchor-of-a-run", breaks: "a message stands for what only the log has, also after an answer",
		file: "agents/internal/conversation/release.go", pkg: "./agents/engine", tests: []string{"TestLoggedInputsOutliveCrashes", "TestInputsLoggedBehindAQuestionOutliveCrashes"}, ci: true,
		old: `	case c.In(message.Logged) > 0 || c.runsLogged:
		before := c.anchor`,
		new: `	case last > 1<<40:
		before := c.anchor`,
	},
	{
		name: "next-run-does-not-wait-for-a-logged-input", breaks: "the reply to a logged input is stored before the next run",
		file: "agents/internal/conversation/view.go", pkg: "./agents/engine", tests: []string{"TestNextRunWaitsForTheReplyToALoggedInput"}, ci: true,
		old: `	wait := message.Delivered(t.Items) < len(t.Inputs)
`,
		new: `	wait := false
`,
	},
	{
		name: "no-catch-up", breaks: "what an owner before has not published is published",
		file: "agents/internal/conversation/open.go", pkg: "./agents/engine", tests: []string{"TestLostRepliesToLoggedInputsAreSentAfterACrash"}, ci: true,
		old: `	if from > 0 {`,
		new: `	if from > 1<<40 {`,
	},
	{
		name: "old-replies-not-searched-for", breaks: "a reply older than the dedupe window comes once",
		file: "agents/internal/unsent/unsent.go", pkg: "./agents/engine", tests: []string{"TestRepliesOlderThanTheDedupeWindow"}, ci: true,
		old: `		search.Most, search.Since = 0, search.Since.Add(-clockSkew)
`,
		new: `		search.Since = time.Now()
`,
	},
	{
		name: "backlog-not-looked-for", breaks: "the replies that an owner before has left go out in the order of the log",
		file: "agents/internal/unsent/backlog.go", pkg: "./agents/engine", tests: []string{"TestUnpublishedRepliesOutliveACrashBehindATask"}, ci: true,
		old: `found[oldest].lost() && `,
		new: `!found[oldest].lost() && `,
	},
	{
		name: "backlog-of-deleted-replies", breaks: "a reply that was published and deleted since is not published again",
		file: "agents/internal/unsent/backlog.go", pkg: "./agents/engine", tests: []string{"TestUnpublishedRepliesOutliveACrashBehindATask"},
		old: `c.at.Before(begin.Add(clockSkew))`,
		new: `false && c.at.Before(begin.Add(clockSkew))`,
	},
	{
		name: "reply-without-id", breaks: "a reply is published under its id",
		file: "agents/internal/replies/replies.go", pkg: "./agents/engine", tests: []string{"TestReplyIsPublishedWithItsID"}, ci: true,
		old: `string(s.Key), nats.MsgIdHdr, reply.ID),`,
		new: `string(s.Key), "Agent-Reply-Id", reply.ID),`,
	},
	{
		name: "outbox-does-not-wait", breaks: "replies of a session keep their order",
		file: "agents/internal/replies/replies.go", pkg: "./agents/engine", tests: []string{"TestUnpublishedReplyOutlivesACrash"}, ci: true,
		old: `		s.Publish(reply, t, func(stored bool) { s.out.Stored(stored, p) })
		return true
`,
		new: `		s.Publish(reply, t, func(bool) {})
		return false
`,
	},
	{
		name: "fenced-items-not-tried", breaks: "what broke off at the fence is counted when it runs again",
		file: "agents/internal/conversation/retry.go", pkg: "./agents/engine", tests: []string{"TestRunsAfterAFenceAreCounted"}, ci: true,
		old: `		it.Tried, it.Handed = true, false
`,
		new: `		_ = it
`,
	},
	{
		name: "broken-run-keeps-its-inputs", breaks: "what had joined a run that broke off is passed by nothing",
		file: "agents/internal/conversation/retry.go", pkg: "./agents/engine", tests: []string{"TestSteeringAfterAFenceKeepsTheOrder"},
		old: `	c.last = nil //`,
		new: `	_ = c.last //`,
	},
	{
		name: "attempts-not-counted", breaks: "a message that fails its host five times is a dead letter",
		file: "agents/internal/runner/resume.go", pkg: "./agents/engine", tests: []string{"TestMessageThatFailsItsHostIsADeadLetter"}, ci: true,
		old: `max(left.Attempt, 1)+1, left.Handed`,
		new: `max(left.Attempt, 1), left.Handed`,
	},
	{
		name: "good-stops-counted", breaks: "a host that stops in good order is no failure of the message",
		file: "agents/internal/runner/resume.go", pkg: "./agents/engine", tests: []string{"TestStopsInARunAreNoFailures"}, ci: true,
		old: `		notBlamed++
`,
		new: ``,
	},
	{
		name: "collect-loses-one", breaks: "of what is collected nothing is lost",
		file: "agents/internal/conversation/take.go", pkg: "./agents/engine", tests: []string{"TestCollectedMessagesAreAllAnswered"}, ci: true,
		old: `c.edited(c.pop(n))`,
		new: `c.edited(c.pop(n)[:min(n, 2)])`,
	},
	{
		name: "rest-keeps-a-waiting-run", breaks: "a run that waits keeps nothing in memory",
		file: "agents/internal/conversation/release.go", pkg: "./agents/engine", tests: []string{"TestWaitingRunKeepsNothing"}, ci: true,
		old: `		c.forget()
		c.suspended = false
`,
		new: `		c.suspended = false
`,
	},
	{
		name: "no-deadline-of-a-waiting-run", breaks: "an approval that nobody answers is denied",
		file: "agents/internal/ask/store.go", pkg: "./agents/engine", tests: []string{"TestQuestionThatWasNotPutOutlivesACrash"}, ci: true,
		old: `	if w.Deadline.IsZero() {
		return nil
	}
	msg, err := w.Reminder(`,
		new: `	if !w.Deadline.IsZero() {
		return nil
	}
	msg, err := w.Reminder(`,
	},
	{
		name: "not-asked-again", breaks: "a question that was not heard is put again",
		file: "agents/internal/conversation/suspended.go", pkg: "./agents/engine", tests: []string{"TestQuestionThatWasNotPutOutlivesACrash"},
		old: `	if fresh && slices.ContainsFunc`,
		new: `	if false && fresh && slices.ContainsFunc`,
	},
	{
		name: "deadline-before-the-answer", breaks: "what was answered before a deadline counts, whichever is read first",
		file: "agents/engine/inbox.go", pkg: "./agents/engine", tests: []string{"TestAnswerInTimeCountsAfterAnOutage"},
		old: `	if ok && r.shared.Intake.LetPass(it, r.closed, r.shared.Yields) {`,
		new: `	if ok {`,
	},
	{
		name: "answer-after-the-deadline", breaks: "what was answered after a deadline does not count",
		file: "agents/internal/answers/answers.go", pkg: "./agents/engine", tests: []string{"TestAnswerTooLate"},
		old: `	return call.Asked != run.ForDelegate && !answered.IsZero()`,
		new: `	return false && call.Asked != run.ForDelegate && !answered.IsZero()`,
	},
	{
		name: "stranger-approves", breaks: "a stranger approves only what names them as an approver",
		file: "agents/internal/intake/approver.go", pkg: "./agents/engine", tests: []string{"TestApproverWhoMayNotWrite"},
		old: `return w.Kind == run.ForApproval && it.IsFrom(w.Approvers) }`,
		new: `return w.Kind == run.ForApproval }`,
	},
	{
		name: "excess-is-dropped", breaks: "what is past queue_max is answered with an error",
		file: "agents/internal/conversation/conversation.go", pkg: "./agents/engine", tests: []string{"TestFullQueue", "TestFullLog"},
		old: `	case full:
		c.refuseExcess(it)
`,
		new: `	case full:
		it.Delivery.Done()
`,
	},
	{
		name: "concurrency-unbounded", breaks: "an agent has at most limits.concurrency runs at once",
		file: "agents/engine/slots.go", pkg: "./agents/engine", tests: []string{"TestRunsAtOnceAreLimited"},
		old: `	if s.active >= r.now().Config.Limits.Concurrency {`,
		new: `	if false {`,
	},
	{
		name: "message-for-another-agent", breaks: "a message that names an agent is for that one alone",
		file: "agents/engine/inbox.go", pkg: "./host", tests: []string{"TestMessageForOneOfTheAgents"},
		old: `	return in.Agent != r.id && `,
		new: `	return false && in.Agent != r.id && `,
	},
	{
		name: "no-question-behind-the-deadline", breaks: "a run that is over while it waits for a person ends by its question",
		file: "agents/internal/runner/runner.go", pkg: "./agents/engine", tests: []string{"TestQuestionOfATaskThatIsOver"}, ci: true,
		old: `return false, t.Tools.Ask(t.Agent.Work, *e.Call)`,
		new: `return false, t.Tools.Ask(ctx, *e.Call)`,
	},
	{
		name: "anybody-approves", breaks: "with approvers set, only they answer",
		file: "agents/internal/answers/approvers.go", pkg: "./agents/internal/answers", tests: []string{"TestRefuse"}, ci: true,
		old: `	case approves && len(a.approvers) > 0:
		return notPermitted(book.Say("approver_only"))
`,
		new: ``,
	},
	{
		name: "chat-allows-always", breaks: "a chat allows once or for its session, not always",
		file: "agents/internal/answers/approvers.go", pkg: "./agents/internal/answers", tests: []string{"TestRefuse"},
		old: `	case answer.Scope == ask.ScopeAlways:`,
		new: `	case answer.Scope == ask.ScopeAlways && a.budget:`,
	},
	{
		name: "any-signature", breaks: "only hosts and the operator speak for an agent",
		file: "bus/signing/signer.go", pkg: "./bus/signing", tests: []string{"TestSignature", "TestForeignRoutes"},
		old: `return hmac.Equal(signature, sum(key, subject, data))`,
		new: `return len(signature) == len(sum(key, subject, data))`,
	},
	{
		name: "empty-list-lets-all-in", breaks: "an empty list of senders lets nobody in",
		file: "agents/internal/senders/rules.go", pkg: "./agents/internal/senders", tests: []string{"TestJudge"},
		old: `case r.Allow == nil && !r.Pairing, slices`,
		new: `case len(r.Allow) == 0 && !r.Pairing, slices`,
	},
	{
		name: "late-answer-not-looked-up", breaks: "an answer to a question of another host counts",
		file: "agents/internal/conversation/open.go", pkg: "./agents/engine", tests: []string{"TestAnswerToAQuestionOfAnotherHost", "TestAnswerToALaterQuestionOfAnotherHost"},
		old: `return it.LogReads >= c.reads }`,
		new: `return false }`,
	},
	{
		name: "another-owner-not-noted", breaks: "what another owner has asked and not put is put",
		file: "agents/internal/conversation/open.go", pkg: "./agents/engine", tests: []string{"TestQuestionThatAnotherOwnerHasNotPut"},
		old: `	c.noteTried(journal)
`,
		new: ``,
	},
	{
		name: "later-message-first", breaks: "a reply that another lane has brought goes before that of a later message",
		file: "agents/internal/conversation/again.go", pkg: "./agents/engine", tests: []string{"TestReplyBeforeThatOfALaterMessage"},
		old: `	if !tried && (from <= c.replied ||`,
		new: `	if !tried && (true || from <= c.replied ||`,
	},
	{
		name: "edit-that-comes-twice", breaks: "an edit has one place in its run",
		file: "agents/internal/mailbox/changes.go", pkg: "./agents/engine", tests: []string{"TestEditThatComesTwice"},
		old: `!edit.ChangesOf(it) || edit.Place == message.Repeated || slices.ContainsFunc(edits, same) {`,
		new: `!edit.ChangesOf(it) || false && slices.ContainsFunc(edits, same) {`,
	},
	{
		name: "withdrawn-once-comes-again", breaks: "what was withdrawn is not answered, though it comes twice",
		file: "agents/internal/mailbox/changes.go", pkg: "./agents/engine", tests: []string{"TestWithdrawnMessageThatComesTwice"},
		old: `if copied != target && change.ChangesOf(copied) {`,
		new: `if copied != target && change.ChangesOf(copied) && false {`,
	},
	{
		name: "answer-left-to-no-one", breaks: "only an agent that hears an answer itself is left to say what became of it",
		file: "agents/internal/passon/passon.go", pkg: "./agents/internal/passon", tests: []string{"TestPass"},
		old: `agent != p.Agent.ID && p.Agent.Parts.Peers.Hear(agent, it.Origin.Subject)`,
		new: `agent != p.Agent.ID`,
	},
}
