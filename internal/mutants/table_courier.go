package main

// Of channels: what the courier promises for all of them.
var courierMutants = []mutant{
	{
		name: "ack-before-the-platform", breaks: "a reply is acknowledged when the platform has it",
		file: "plugins/outbox.go", pkg: "./plugins", tests: []string{"TestOneOwnerAndTakeover"}, ci: true,
		old: `	o.held[seq] = it
`,
		new: `	o.ack(o.acknowledgement(m))
	o.held[seq] = it
`,
	},
	{
		name: "transient-refusal-is-permanent", breaks: "a transient refusal is tried again",
		file: "plugins/delivery.go", pkg: "./plugins", tests: []string{"TestRetries"}, ci: true,
		old: `		if permanent, ok := errors.AsType[*PermanentError](err); ok {
			return permanent
		}
`,
		new: `		return err
`,
	},
	{
		name: "parts-begin-again", breaks: "parts that the platform has taken are not sent again",
		file: "plugins/delivery.go", pkg: "./plugins", tests: []string{"TestPartsGoOnWhereTheyWere"}, ci: true,
		old: `	for i := taken; i < len(list); i++ {`,
		new: `	_ = taken
	for i := 0; i < len(list); i++ {`,
	},
	{
		name: "taken-is-forgotten", breaks: "what a host has sent while NATS was away is not sent again",
		file: "plugins/delivery.go", pkg: "./plugins", tests: []string{"TestTakenWhileNATSWasAway"},
		old: `		d.c.taken.set(d.out.ID, progress{i + 1, len(list)})
`,
		new: ``,
	},
	{
		name: "newer-before-what-is-left", breaks: "what another owner has left goes out before newer replies",
		file: "plugins/outbox.go", pkg: "./plugins", tests: []string{"TestOnlyChatsUnderWayWaitAfterACrash", "TestOneOwnerAndTakeover"}, ci: true,
		old: `	if o.older && o.left.holds(it) {`,
		new: `	if false && o.older && o.left.holds(it) {`,
	},
	{
		name: "newer-before-what-is-lost-again", breaks: "newer replies wait for one that is lost twice",
		file: "plugins/outbox.go", pkg: "./plugins", tests: []string{"TestNewerRepliesWaitForALostOne"}, ci: true,
		old: `(!complete || time.Now().Before(o.olderUntil))`,
		new: `time.Now().Before(o.olderUntil)`,
	},
	{
		name: "all-chats-wait", breaks: "a chat without leftovers does not wait for another",
		file: "plugins/leftover.go", pkg: "./plugins", tests: []string{"TestOnlyChatsUnderWayWaitAfterACrash", "TestLeftoverHoldsItsChats"},
		old: `	if l.missing[it.key] == 0 && l.set[it.key] == 0 {
		return false
	}
`,
		new: ``,
	},
	{
		name: "settled-is-delivered-again", breaks: "a reply whose acknowledgement was lost is not delivered again",
		file: "plugins/outbox.go", pkg: "./plugins", tests: []string{"TestSettledReplyComesAgain"}, ci: true,
		old: `	o.c.settled.add(it.seq)
`,
		new: ``,
	},
	{
		name: "account-kept-without-nats", breaks: "a host that has lost NATS lets its account go",
		file: "plugins/owner.go", pkg: "./plugins", tests: []string{"TestNATSAway"},
		old: `if e.term != nil && time.Since(e.heard) > pinnedTTL {`,
		new: `if e.term != nil && time.Since(e.heard) > 100*pinnedTTL {`,
	},
	{
		name: "account-kept-by-the-dead", breaks: "an account moves within ten seconds of the death of its owner",
		file: "plugins/owner.go", pkg: "./plugins", tests: []string{"TestTakeoverTime"},
		old: `	pinnedTTL  = 6 * time.Second`,
		new: `	pinnedTTL  = 9 * time.Second`,
	},
	{
		name: "account-not-handed-over", breaks: "a host that stops hands its accounts over at once",
		file: "plugins/owner.go", pkg: "./plugins", tests: []string{"TestOneOwnerAndTakeover"},
		old: `	return stream.UnpinConsumer(ctx, e.c.account.consumer(), ownerGroup)`,
		new: `	_ = stream
	return nil`,
	},
	{
		name: "consumer-removed-with-replies", breaks: "the consumer of an account that is gone stays while replies wait",
		file: "plugins/unconfigured.go", pkg: "./plugins", tests: []string{"TestConsumerOfAnUnconfiguredAccountIsRemoved"},
		old: `	if waiting(info) > 0 || pinnedClient(info) != "" {`,
		new: `	if pinnedClient(info) != "" {`,
	},
	{
		name: "consumer-forgets-its-place", breaks: "what is said while a consumer is gone is delivered",
		file: "plugins/consumer.go", pkg: "./plugins", tests: []string{"TestRepliesWhileTheConsumerIsGone"},
		old: `	case done > 0:
`,
		new: `	case done > 1<<60:
`,
	},
	{
		name: "account-keeps-places-of-another-stream", breaks: "replies of a stream that was made again are delivered",
		file: "plugins/consumer.go", pkg: "./plugins", tests: []string{"TestRepliesOfAStreamThatIsMadeAgain"},
		old: `		c.settled.clear()
`,
		new: ``,
	},
	{
		name: "link-cut-at-a-space", breaks: "a link that fits into a piece of a message is not cut",
		file: "plugins/internal/split/point.go", pkg: "./plugins/internal/split", tests: []string{"TestLinkWithSpacesStaysWhole"},
		old: `min(2*len(window), len(text))`,
		new: `len(window)`,
	},
	{
		name: "code-behind-a-list-moves", breaks: "code in a message that is cut keeps its indentation",
		file: "plugins/internal/split/split.go", pkg: "./plugins/internal/split", tests: []string{"TestCodeBehindANestedListKeepsItsIndentation"},
		old: `			most = min(by, space)
`,
		new: `			most = max(by, space)
`,
	},
	{
		name: "code-ends-at-a-shorter-mark", breaks: "what looks like the end of a block of code within it does not end it",
		file: "plugins/internal/split/fence.go", pkg: "./plugins/internal/split", tests: []string{"TestMarksInABlockOfCode"},
		old: ` && len(mark) >= len(f.mark) {`,
		new: ` {`,
	},
}
