package main

import (
	"slices"
	"time"
)

// inSimulation are those of the other tables that the simulation has to catch as well, with
// the seeds of .ci/run. What else breaks a promise is found there by chance.
var inSimulation = []string{
	"no-fence", "id-forgotten", "answer-forgotten-in-a-fresh-log", "ambiguous-commit-taken-for-stored", "ack-before-commit",
	"reply-without-id", "outbox-does-not-wait", "old-replies-not-searched-for", "collect-loses-one", "no-reset-at-takeover",
	"left-is-acknowledged", "unsafe-tool-runs-again", "no-deadline-of-a-waiting-run", "not-asked-again", "call-left-open",
	"firing-named-by-its-host", "tick-decided-twice", "edit-that-comes-twice",
}

// simulationMutants are those that the simulation alone has to catch: one to each promise of what it checks.
var simulationMutants = []mutant{
	{
		name: "simulated-task-given-twice", breaks: "a task is worked on once",
		file: "agents/internal/toolcall/delegate.go",
		old:  `		ID: w.ID, Kind: bus.RouteDelegate,`,
		new:  `		ID: w.ID + time.Now().String(), Kind: bus.RouteDelegate,`,
	},
	{
		name: "simulated-result-changed", breaks: "a task has the result that its agent gave",
		file: "agents/internal/answers/answers.go",
		old:  `sig.Kind, sig.Call, sig.Answer = run.Answered, call.ID, message.WithMedia(route)`,
		new:  `sig.Kind, sig.Call, sig.Answer = run.Answered, call.ID, "done: "+message.WithMedia(route)`,
	},
	{
		name: "simulated-denial-runs", breaks: "what was denied does not run",
		file: "run/wait.go",
		old: `		if sig.Answer == Deny {
			m.finish(`,
		new: `		if sig.Answer == "" {
			m.finish(`,
	},
	{
		name: "simulated-nobody-asked", breaks: "what needs an approval asks for it",
		file: "agents/internal/toolcall/use.go",
		old: `	if call.Approved {
		return nil, t.forbidden(tool, args)
	}
	switch`,
		new: `	if call.Approved || len(args) > 0 {
		return nil, t.forbidden(tool, args)
	}
	switch`,
	},
	{
		name: "simulated-other-option", breaks: "a question has the answer that was given",
		file: "run/wait.go",
		old: `		e.Type = QuestionAnswered
`,
		new: `		e.Type, e.Answer = QuestionAnswered, e.Answer+"!"
`,
	},
	{
		name: "simulated-withdrawn-is-answered", breaks: "what was withdrawn is not answered",
		file: "agents/internal/mailbox/changes.go",
		old: `		ending := append(m.ChangedIn(target), target)
`,
		new: `		ending := m.ChangedIn(target)
`,
	},
	{
		name: "simulated-stop-is-dropped", breaks: "an order to stop is in a log, or is answered",
		file: "agents/internal/passon/passon.go",
		old: `	if n == 0 && before == "" {
		return Outcome{}
	}
`,
		new: `	if n == 0 && before == "" {
		return Outcome{Over: true}
	}
`,
	},
	{
		name: "simulated-reminder-lost", breaks: "a reminder fires",
		file: "heartbeat/firing.go",
		old: `	case h.data == string(msg.Data):
`,
		new: `	case h.seq == 0 || h.data == string(msg.Data):
`,
	},
}

// inSeeds is a mutant that the simulation has to catch, with the seeds of .ci/run: some need
// thousands of them.
func inSeeds(m mutant) mutant {
	m.pkg, m.tests, m.tags = "./internal/simulation", []string{"TestSimulation"}, ""
	m.args, m.lasts = []string{"-simulation.first", "-simulation.seeds=10000"}, 10*time.Minute
	return m
}

// simulatedAlone are simulationMutants, with the test that has to catch them.
func simulatedAlone() []mutant {
	list := slices.Clone(simulationMutants)
	for i := range list {
		list[i] = inSeeds(list[i])
	}
	return list
}

// simulated are those mutants, as the simulation has to catch them.
func simulated(of []mutant) (list []mutant) {
	for _, m := range of {
		if !slices.Contains(inSimulation, m.name) {
			continue
		}
		m = inSeeds(m)
		m.name = "simulated-" + m.name
		m.ci = m.name == "simulated-ack-before-commit"
		list = append(list, m)
	}
	return list
}
