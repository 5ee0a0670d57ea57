package main

import "slices"

// inSimulation are those of the other tables that the simulation has to catch as well, with
// the seeds that go test runs. What else breaks a promise is found there by chance.
var inSimulation = []string{
	"no-fence", "id-forgotten", "answer-forgotten-in-a-fresh-log", "ambiguous-commit-taken-for-stored", "ack-before-commit",
	"reply-without-id", "outbox-does-not-wait", "old-replies-not-searched-for", "collect-loses-one", "no-reset-at-takeover",
	"left-is-acknowledged",
}

// simulated are those mutants, as the simulation has to catch them.
func simulated(of []mutant) (list []mutant) {
	for _, m := range of {
		if !slices.Contains(inSimulation, m.name) {
			continue
		}
		m.name, m.pkg, m.tests, m.tags = "simulated-"+m.name, "./internal/simulation", []string{"TestSimulation"}, ""
		m.ci = m.name == "simulated-ack-before-commit"
		list = append(list, m)
	}
	return list
}
