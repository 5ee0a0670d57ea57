package main

// Of schedules and heartbeats.
var scheduleMutants = []mutant{
	{
		name: "firing-named-by-its-host", breaks: "a firing has the same id on every host",
		file: "heartbeat/entry.go", pkg: "./heartbeat", tests: []string{"TestEverySecondOnTwoHosts"}, ci: true,
		old: `	return "schedule:" + e.Name + "@" + e.Next.UTC().Format(time.RFC3339)`,
		new: `	return "schedule:" + e.Name + "@" + time.Now().UTC().Format(time.RFC3339Nano)`,
	},
	{
		name: "tick-named-by-its-host", breaks: "a tick has the same id on every host",
		file: "heartbeat/beat.go", pkg: "./heartbeat", tests: []string{"TestTicksOfTwoHosts"}, ci: true,
		old: `	id := TickID(b.Agent, due)
`,
		new: `	id := TickID(b.Agent, due) + p.Host
`,
	},
	{
		name: "tick-decided-twice", breaks: "a tick is decided once in the fleet",
		file: "heartbeat/ticks.go", pkg: "./heartbeat", tests: []string{"TestDecide"}, ci: true,
		old: `		if !due.After(rec.Due) && !b.misdated(ctx, rec.Due, due) {`,
		new: `		if due.Before(rec.Due) {`,
	},
	{
		name: "firing-replaced-while-due", breaks: "a firing that is due is not replaced before it has fired",
		file: "heartbeat/firing.go", pkg: "./heartbeat", tests: []string{"TestFiringThatIsDueIsNotReplaced"}, ci: true,
		old: `!h.Due.IsZero() && !h.Due.After(now):`,
		new: `!h.Due.IsZero() && h.Due.IsZero():`,
	},
	{
		name: "cancelled-firing-armed", breaks: "what is cancelled while a host arms it does not fire",
		file: "heartbeat/firing.go", pkg: "./heartbeat", tests: []string{"TestFiringOfACancelledReminderIsTakenBack"}, ci: true,
		old: `	return k.confirm(ctx, e, seq)`,
		new: `	_ = seq
	return true, nil`,
	},
	{
		name: "missed-firings-all-made-up-for", breaks: "firings that were missed become one",
		file: "heartbeat/schedules.go", pkg: "./heartbeat", tests: []string{"TestMissed"}, ci: true,
		old: `	return k.put(ctx, e, now)`,
		new: `	return k.put(ctx, e, e.Next)`,
	},
	{
		name: "restart-forgets-a-firing", breaks: "a firing that was missed is made up for after a restart",
		file: "heartbeat/adopt.go", pkg: "./heartbeat", tests: []string{"TestMissedFiringThatNothingHolds"}, ci: true,
		old: `	same := old.revision != 0 && old.Spec == e.Spec`,
		new: `	same := false && old.Spec == e.Spec`,
	},
	{
		name: "cancelled-and-yet-fired", breaks: "a reminder that is cancelled does not fire",
		file: "heartbeat/entry.go", pkg: "./heartbeat", tests: []string{"TestCancel"}, ci: true,
		old: `{ return stream.Purge(ctx, jetstream.WithPurgeSubject(e.Subject())) }`,
		new: `{ return stream.Purge(ctx, jetstream.WithPurgeSubject(e.Subject()+".never")) }`,
	},
}
