package main

// Of what is spent.
var budgetMutants = []mutant{
	{
		name: "reservation-leaks", breaks: "a call that has ended reserves nothing",
		file: "agents/internal/budget/account.go", pkg: "./agents/internal/budget", tests: []string{"TestLedgerClosesAfterItsCalls"}, ci: true,
		old: `		a.held.sub(run, reserved)
`,
		new: ``,
	},
	{
		name: "reservation-of-a-person-leaks", breaks: "a call that one budget refuses reserves nothing in another",
		file: "agents/internal/budget/hold.go", pkg: "./agents/internal/budget", tests: []string{"TestRefusedCallReservesNothing"}, ci: true,
		old: `		h.peer.settle(h.try, 0)
`,
		new: ``,
	},
	{
		name: "reservation-outlives-its-call", breaks: "a call that is not made gives back what it reserved",
		file: "llm/chain.go", pkg: "./agents/engine", tests: []string{"TestBudgetOfACallThatIsNotMade"},
		old: `		a.Settle(cost)
`,
		new: `		if cost > 0 {
			a.Settle(cost)
		}
`,
	},
	{
		name: "ledger-closes-under-a-call", breaks: "a host that stops gives back what its last calls reserved",
		file: "agents/internal/budget/ledger.go", pkg: "./agents/internal/budget", tests: []string{"TestLedgerClosesAfterItsCalls"}, ci: true,
		old: `	select {
	case <-l.drain():
	case <-l.ctx.Done():
	}
`,
		new: `	l.drain()
`,
	},
	{
		name: "dead-host-not-booked", breaks: "what died with its host counts as spent",
		file: "agents/internal/budget/record.go", pkg: "./agents/internal/budget", tests: []string{"TestLedgerBooksTheDead"}, ci: true,
		old: `	s.Spent = llm.Sum(s.Spent, dead.Reserved)
`,
		new: ``,
	},
	{
		name: "input-not-counted", breaks: "a call whose input alone is too much is not made",
		file: "agents/internal/budget/claim.go", pkg: "./agents/internal/budget", tests: []string{"TestLedgerDecides"},
		old: `c.spent >= c.limit || llm.Sum(c.spent, c.input) > c.limit:`,
		new: `c.spent >= c.limit:`,
	},
	{
		name: "other-hosts-not-counted", breaks: "hosts share a budget",
		file: "agents/internal/budget/claim.go", pkg: "./agents/internal/budget", tests: []string{"TestLedgerWaits"}, ci: true,
		old: `		others = llm.Sum(others, share.Reserved)
`,
		new: `		_ = share
`,
	},
	{
		name: "alive-host-stays-booked", breaks: "what was booked of a host that is alive is given back",
		file: "agents/internal/budget/record.go", pkg: "./agents/internal/budget", tests: []string{"TestLedgerGivesBack"},
		old: `			s.Spent -= amount
`,
		new: ``,
	},
}
