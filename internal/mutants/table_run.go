package main

// Of the machine, tools, models and hooks.
var runMutants = []mutant{
	{
		name: "unsafe-tool-runs-again", breaks: "after a crash only a tool marked safe runs again",
		file: "run/barrier.go", pkg: "./run", tests: []string{"TestInterruptedResult", "TestResume"}, ci: true,
		old: `if c.ready() && c.Rerun != SafeRerun {`,
		new: `if c.ready() && c.Rerun == "never" {`,
	},
	{
		name: "tools-before-their-commit", breaks: "the request of a tool is in the log before it runs",
		file: "run/barrier.go", pkg: "./run", tests: []string{"TestToolsAreWrittenBeforeTheyRun"}, ci: true,
		old: `	m.commit()
	m.launch()
}

func (m *machine) rerun`,
		new: `	m.launch()
	m.commit()
}

func (m *machine) rerun`,
	},
	{
		name: "attempt-after-the-work", breaks: "a counted attempt is in the log before any work",
		file: "run/start.go", pkg: "./run", tests: []string{"TestCountedAttemptIsWrittenFirst"}, ci: true,
		old: `	if sig.Attempt > 0 {
		m.commit()
	}
`,
		new: ``,
	},
	{
		name: "steer-splits-a-call", breaks: "what joins a run does not come between a call and its result",
		file: "run/fold.go", pkg: "./run", tests: []string{"TestSteerJoinsAtTheNextModelCall"},
		old: `		r.Joining = append(slices.Clip(r.Joining), *e.Message)
`,
		new: `		s.Messages = append(s.Messages, *e.Message)
`,
	},
	{
		name: "second-answer-counts", breaks: "of two answers the first counts",
		file: "run/wait.go", pkg: "./run", tests: []string{"TestSecondAnswerToAnApprovalIsIgnored"}, ci: true,
		old: `	case c == nil || c.Asked == "":
`,
		new: `	case c == nil:
`,
	},
	{
		name: "call-left-open", breaks: "a run that is stopped leaves no call without a result",
		file: "run/end.go", pkg: "./run", tests: []string{"TestAbort"}, ci: true,
		old: `	m.cancel()
	e := m.told(err)`,
		new: `	e := m.told(err)`,
	},
	{
		name: "compaction-splits-a-call", breaks: "a compaction does not come between a call and its result",
		file: "run/compact.go", pkg: "./run", tests: []string{"TestCompactionInsideARun"},
		old: `if role := messages[i].Role; role == one || role == other {`,
		new: `if role := messages[i].Role; role == one || role == other || role == llm.Tool {`,
	},
	{
		name: "lost-spending-counted-again", breaks: "what died with a host is booked once",
		file: "run/fold.go", pkg: "./run", tests: []string{"TestLostCallsAreSpent"},
		old: `	s.spend(all - s.Run.Lost)`,
		new: `	s.spend(all)`,
	},
	{
		name: "undeclared-tool-runs", breaks: "a tool with undeclared effects asks",
		file: "tools/policy.go", pkg: "./tools", tests: []string{"TestDecide"}, ci: true,
		old: `	return Decision{Verdict: Ask, Reason: "no permission is set for " + t.Name}`,
		new: `	return Decision{Verdict: Allow, Reason: "no permission is set for " + t.Name}`,
	},
	{
		name: "approval-lifts-a-denial", breaks: "an approval lifts no denial",
		file: "tools/policy.go", pkg: "./tools", tests: []string{"TestDecide", "TestDecideCommand"},
		old: `if d.Verdict == Ask && approved[key] {`,
		new: `if approved[key] {`,
	},
	{
		name: "first-command-decides", breaks: "the strictest command of a line decides",
		file: "tools/policy.go", pkg: "./tools", tests: []string{"TestDecideCommand"}, ci: true,
		old: `	for _, name := range c.names {
		strictest`,
		new: `	for _, name := range c.names[:min(1, len(c.names))] {
		strictest`,
	},
	{
		name: "breaker-never-opens", breaks: "five failures in a row open the breaker",
		file: "llm/breaker.go", pkg: "./llm", tests: []string{"TestBreakerStaysOpenLongerEachTime"},
		old: `b.count == failuresToOpen {`,
		new: `b.count == failuresToOpen+1 {`,
	},
	{
		name: "probes-at-once", breaks: "an open breaker lets one probe through at a time",
		file: "llm/breaker.go", pkg: "./llm", tests: []string{"TestBreakerLetsOneProbeThrough"},
		old: `	b.probing = b.state == HalfOpen`,
		new: `	b.probing = false`,
	},
	{
		name: "failed-hook-lets-through", breaks: "a hook that fails closed ends the run",
		file: "hooks/fire.go", pkg: "./hooks", tests: []string{"TestFaults"}, ci: true,
		old: `closed = l.opts.FailClosed && CanFailClosed(call.Hook)`,
		new: `closed = l.opts.FailClosed && !CanFailClosed(call.Hook)`,
	},
	{
		name: "next-hook-sees-the-original", breaks: "a hook sees what those before it have changed",
		file: "hooks/fire.go", pkg: "./hooks", tests: []string{"TestNextSeesOverride"},
		old: `		l.action, l.call.Args = Override, merged(l.call.Args, changes)`,
		new: `		l.action = Override`,
	},
	{
		name: "call-settled-twice", breaks: "a run that is stopped settles each call once",
		file: "run/end.go", pkg: "./run", tests: []string{"TestAbort"},
		old: `		if c.Done {
			continue
		}
		result`,
		new: `		result`,
	},
	{
		name: "stopped-call-keeps-its-money", breaks: "a call that ends while it waits for its turn gives back what it reserved",
		file: "llm/chain.go", pkg: "./llm", tests: []string{"TestChainGivesBackWhatItDoesNotSpend"},
		old: `		if err != nil {
			l.admission.settle(0)
`,
		new: `		if err != nil {
`,
	},
}
