package control

import (
	"cmp"
	"context"
	"slices"

	"agenthost/agents"
	"agenthost/client"
)

// mostRuns keeps a report within a message.
const mostRuns = 1000

func (h Host) runs(context.Context, none) (client.RunReport, error) {
	runs := h.Fleet.Runs()
	slices.SortFunc(runs, func(a, b agents.RunStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Session, b.Session))
	})
	n := min(len(runs), mostRuns)
	return client.RunReport{Host: h.Name, Runs: append([]agents.RunStatus{}, runs[:n]...), More: len(runs) - n}, nil
}

func (h Host) prompt(_ context.Context, p client.PreviewRequest) (agents.Preview, error) {
	shown, ok := h.Fleet.Preview(p.Agent)
	if !ok {
		return agents.Preview{}, coded(client.CodeNotFound, "there is no agent %q", p.Agent)
	}
	shown.System = h.Redact(shown.System)
	for i := range shown.Bindings {
		shown.Bindings[i].System = h.Redact(shown.Bindings[i].System)
	}
	return shown, nil
}
