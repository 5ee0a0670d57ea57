package main

// Of doors, tokens and the sandbox: who is let in, and what is kept in.
var trustMutants = []mutant{
	{
		name: "new-bucket-unread", breaks: "a token that is revoked after its bucket was made again lets in no longer",
		file: "bus/records/followbucket.go", pkg: "./internal/tokens", tests: []string{"TestTokensOfABucketThatIsMadeAgain"},
		old: `again && err == nil {`,
		new: `false && again && err == nil {`,
	},
	{
		name: "word-for-every-agent", breaks: "a word in a chat with several agents answers one question",
		file: "agents/internal/ask/index.go", pkg: "./agents/internal/ask", tests: []string{"TestQuestionsOfOthersInAConversation"}, ci: true,
		old: `		if w.Origin.Agent != agent {`,
		new: `		if w.Origin.Agent == agent {`,
	},
	{
		name: "one-number-for-two", breaks: "what two agents ask at the same time has two numbers",
		file: "agents/internal/ask/numbers.go", pkg: "./agents/internal/ask", tests: []string{"TestNumbersAreTaken"},
		old: `			if !other.isOf(w) {`,
		new: `			if false && !other.isOf(w) {`,
	},
	{
		name: "word-for-the-next-agent", breaks: "a message that answered one agent does not answer another",
		file: "agents/internal/ask/closed.go", pkg: "./agents/internal/ask", tests: []string{"TestQuestionsOfOthersInAConversation"},
		old: `w.until.IsZero() || w.until.After(stored)`,
		new: `w.until.After(stored)`,
	},
	{
		name: "role-ignored", breaks: "a token may do what its role says and no more",
		file: "internal/httpauth/token.go", pkg: "./internal/httpauth", tests: []string{"TestBearer"}, ci: true,
		old: `	return c.Role == Admin || slices.Contains(roles, c.Role)`,
		new: `	return c.Role == Admin || len(roles) > 0`,
	},
	{
		name: "any-token", breaks: "a wrong token is refused",
		file: "internal/httpauth/token.go", pkg: "./internal/httpauth", tests: []string{"TestBearer"},
		old: `subtle.ConstantTimeCompare(sum[:], own[:]) == 1 {`,
		new: `subtle.ConstantTimeCompare(sum[:0], own[:0]) == 1 {`,
	},
	{
		name: "cookie-for-foreign-pages", breaks: "a cookie alone authorises no request of a foreign page",
		file: "internal/httpauth/auth.go", pkg: "./internal/httpauth", tests: []string{"TestCookie"}, ci: true,
		old: `	case foreign(r):
		return Caller{}, errForeign
`,
		new: ``,
	},
	{
		name: "rebound-name-let-in", breaks: "without a token only this machine's names are served",
		file: "internal/httpauth/auth.go", pkg: "./internal/httpauth", tests: []string{"TestWithoutToken"},
		old: `		if !onThisMachine(r) {`,
		new: `		if false && !onThisMachine(r) {`,
	},
	{
		name: "expired-token", breaks: "a token that has expired is refused",
		file: "internal/tokens/index.go", pkg: "./internal/tokens", tests: []string{"TestTokenCountsUntilItsEnd"}, ci: true,
		old: `case !ok || !t.Expires.IsZero() && !now.Before(t.Expires):`,
		new: `case !ok:`,
	},
	{
		name: "revoked-token", breaks: "a token that was revoked is refused",
		file: "internal/tokens/index.go", pkg: "./host", tests: []string{"TestTokensThatAreMade"},
		old: `	delete(x.byHash, x.hashes[e.Key()])
`,
		new: ``,
	},
	{
		name: "ended-login-counts", breaks: "a login that was logged out lets no request in",
		file: "internal/httpauth/auth.go", pkg: "./internal/httpauth", tests: []string{"TestLogoutEndsItsLogin"}, ci: true,
		old: `	case ended:
`,
		new: `	case ended && value == "":
`,
	},
	{
		name: "login-before-logouts-are-read", breaks: "no login counts on a host that does not know which were ended",
		file: "internal/tokens/logout.go", pkg: "./internal/tokens", tests: []string{"TestLogoutCountsEverywhere"},
		old: `	if !x.whole {`,
		new: `	if x.js == nil && x.whole {`,
	},
	{
		name: "nick-of-another", breaks: "what is for an IRC account goes to no other person who has its nick",
		file: "plugins/irc/person.go", pkg: "./plugins/irc", tests: []string{"TestAnotherHasTheNick"},
		old: `	if r.holder != account {`,
		new: `	if r.holder == "" {`,
	},
	{
		name: "token-for-every-agent", breaks: "a token for some agents reaches no other",
		file: "internal/httpauth/token.go", pkg: "./host", tests: []string{"TestTokenForSomeAgents"}, ci: true,
		old: `	return len(c.agents) == 0 || slices.Contains(c.agents, agent)`,
		new: `	return true || slices.Contains(c.agents, agent)`,
	},
	{
		name: "key-with-another-body", breaks: "an Idempotency-Key with another body is refused",
		file: "doors/openai/request.go", pkg: "./doors/openai", tests: []string{"TestIdempotencyKey"}, ci: true,
		old: `	if j.record.Sum != rec.Sum {`,
		new: `	if j.record.Sum == "" {`,
	},
	{
		name: "repeat-is-a-new-request", breaks: "a request with the same key has one run",
		file: "doors/openai/requests.go", pkg: "./doors/openai", tests: []string{"TestIdempotencyKey"},
		old: `		return known, true, nil
`,
		new: `		_ = known
		return rec, false, nil
`,
	},
	{
		name: "keys-across-tokens", breaks: "a key of one token is nothing to another",
		file: "doors/openai/request.go", pkg: "./doors/openai", tests: []string{"TestTokensAreApart"},
		old: `	name := sum(a.visit.Instance, key)
`,
		new: `	name := sum("", key)
`,
	},
	{
		name: "closed-door-lists-its-agents", breaks: "an agent is reached by its doors alone",
		file: "doors/desk.go", pkg: "./doors", tests: []string{"TestAgentsOfADoor"},
		old: `(a.Doors == nil || slices.Contains(a.Doors, d.door))`,
		new: `(a.Doors == nil || !slices.Contains(a.Doors, d.door))`,
	},
	{
		name: "end-forgotten-at-the-door", breaks: "a message that comes again at a door gets its reply",
		file: "doors/recall.go", pkg: "./doors", tests: []string{"TestTheEndOfAMessageIsInTheLog"},
		old: `	for _, out := range list {
		e.push(out)
	}
`,
		new: `	_ = list
`,
	},
	{
		name: "code-used-twice", breaks: "a pairing code is good once",
		file: "internal/pairing/code.go", pkg: "./internal/pairing", tests: []string{"TestApprove"},
		old: `	p.Code = ""
`,
		new: ``,
	},
	{
		name: "sandbox-with-the-network", breaks: "commands have no network",
		file: "internal/sandbox/seccomp_linux.go", pkg: "./internal/sandbox", tests: []string{"TestFilter", "TestAttacksAreRefused"}, ci: true,
		old: `		f.always(denied, unix.SYS_SOCKET)
		return
`,
		new: `		return
`,
	},
	{
		name: "sandbox-with-namespaces", breaks: "commands make no namespaces of their own",
		file: "internal/sandbox/seccomp_linux.go", pkg: "./internal/sandbox", tests: []string{"TestFilter"},
		old: `	f.newNamespaces()
	f.typing`,
		new: `	f.typing`,
	},
	{
		name: "sandbox-writes-elsewhere", breaks: "commands change nothing outside their workspace",
		file: "internal/sandbox/landlock_linux.go", pkg: "./internal/sandbox", tests: []string{"TestAttacksAreRefused", "TestSandboxKeepsCommandsIn"},
		old: `		if err := r.grant(path, mayRead); err != nil && !absent(err) {`,
		new: `		if err := r.grant(path, mayWrite); err != nil && !absent(err) {`,
	},
	{
		name: "sandbox-with-set-user-id", breaks: "commands make no files that give others the rights of the host",
		file: "internal/sandbox/seccomp_linux.go", pkg: "./internal/sandbox", tests: []string{"TestFilter"},
		old: `	f.otherUsers()
	f.sockets`,
		new: `	f.sockets`,
	},
	{
		name: "any-size-of-a-file", breaks: "a command fills no disk with one file",
		file: "internal/sandbox/limits_linux.go", pkg: "./internal/sandbox", tests: []string{"TestSandboxKeepsCommandsIn", "TestAttacksAreRefused"},
		old: `		{"size of a file", unix.RLIMIT_FSIZE, min(fileSize, maxFileSize)},
`,
		new: `		{"size of a file", unix.RLIMIT_FSIZE, max(fileSize, 1<<60)},
`,
	},
	{
		name: "denied-and-yet-let-in", breaks: "of two operators who settle one pairing code the first decides",
		file: "internal/pairing/code.go", pkg: "./internal/pairing", tests: []string{"TestApprovalBehindADenial"},
		old: `	if records.Overtaken(err) {
		err = ErrNoCode
	}
	return revision, err`,
		new: `	if records.Overtaken(err) {
		err = nil
	}
	return revision, err`,
	},
	{
		name: "approval-lost-with-its-code", breaks: "a code whose approval was not stored can be approved again",
		file: "internal/pairing/pairing.go", pkg: "./internal/pairing", tests: []string{"TestApprovalThatIsNotStored"},
		old: `		s.reopen(ctx, e, taken)
`,
		new: `		_ = taken
`,
	},
	{
		name: "revoked-for-all", breaks: "what is taken back for one agent counts for the others",
		file: "internal/pairing/pairing.go", pkg: "./internal/pairing", tests: []string{"TestRevokeOfOneAgent"},
		old: `agent != "" && e.Agent != agent {`,
		new: `agent != "" && e.Agent < agent {`,
	},
	{
		name: "token-of-another-name", breaks: "an entry that no host has written admits no request",
		file: "internal/tokens/tokens.go", pkg: "./internal/tokens", tests: []string{"TestEntriesThatNoHostHasWritten"},
		old: `|| t.Name != e.Key() |`,
		new: `|`,
	},
	{
		name: "word-of-another-person", breaks: "a word that a question was given keeps no other person's from it",
		file: "agents/internal/ask/meant.go", pkg: "./agents/internal/ask", tests: []string{"TestWordsThatQuestionsWereGiven"},
		old: `w.input != input && w.sender == sender`,
		new: `w.input != input`,
	},
	{
		name: "login-prolonged", breaks: "a cookie proves when its login ends",
		file: "internal/httpauth/cookie.go", pkg: "./internal/httpauth", tests: []string{"TestCookieIsNotProlonged"},
		old: `"agenthost login\x00" + content`,
		new: `"agenthost login\x00"`,
	},
	{
		name: "issued-under-a-known-name", breaks: "a token made by command lets in as none of the configuration",
		file: "internal/httpauth/auth.go", pkg: "./internal/httpauth", tests: []string{"TestTokenMadeByCommand"},
		old: `!ok || taken || t.Name == Operator {`,
		new: `!ok || taken && !ok {`,
	},
	{
		name: "approved-with-what-is-denied", breaks: "an approval brings no arguments that the permissions deny",
		file: "agents/internal/answers/answers.go", pkg: "./agents/internal/answers", tests: []string{"TestAnswerByRoute"},
		old: `Verdict == tools.Deny:`,
		new: `Verdict == tools.Deny && false:`,
	},
	{
		name: "passed-on-past-approvers", breaks: "an answer that is passed on is of a person who may give it",
		file: "agents/internal/passon/passon.go", pkg: "./agents/internal/passon", tests: []string{"TestPass"},
		old: `p.reader().IsHere(w.Origin, it), *sig); why != nil {`,
		new: `p.reader().IsHere(w.Origin, it), *sig); why != nil && false {`,
	},
	{
		name: "passed-on-and-not-stored", breaks: "who is told that an answer was passed on can count on it",
		file: "agents/internal/passon/passon.go", pkg: "./agents/internal/passon", tests: []string{"TestPassOnThatIsRefused"},
		old: `		return inflight.ErrStopping
	}
	return err
`,
		new: `		return inflight.ErrStopping
	}
	_ = err
	return nil
`,
	},
	{
		name: "kept-file-deleted", breaks: "a file that a session names again while it is deleted stays",
		file: "bus/filestore/left.go", pkg: "./bus/filestore", tests: []string{"TestFileIsKeptWhileItIsDeleted"},
		old: `msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(rec.Seq, 10))`,
		new: `msg.Header.Set("Agent-Seq", strconv.FormatUint(rec.Seq, 10))`,
	},
	{
		name: "reply-of-another-person", breaks: "who waits for a reply gets none to another person's message with the same id",
		file: "plugins/ask.go", pkg: "./plugins", tests: []string{"TestAskGetsItsOwnReply"}, ci: true,
		old: `key != "" && key != q.own && key != q.joined {`,
		new: `key == "none" && key != q.own && key != q.joined {`,
	},
	{
		name: "approved-with-a-but", breaks: "a word besides that of an approval approves nothing",
		file: "agents/internal/ask/verdict.go", pkg: "./agents/internal/ask", tests: []string{"TestWordsThatApprove"},
		old: `		if !r.read(book, strings.Trim(word, stops)) {`,
		new: `		if !r.read(book, strings.Trim(word, stops)) && false {`,
	},
}
