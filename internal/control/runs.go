package control

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"agenthost/agents"
)

// The subjects by which programs see the runs of all hosts, and what the model
// of an agent gets.
const (
	RunsSubject   = "agenthost.runs"
	PromptSubject = "agenthost.prompt"
)

type (
	// RunStatus is a run under way, see agents.RunStatus.
	RunStatus = agents.RunStatus
	// Preview is what the model of an agent gets, see agents.Preview.
	Preview = agents.Preview
	// PreviewTool is a tool as that model gets it.
	PreviewTool = agents.PreviewTool
)

// ErrNotWaiting means that nothing waits under an id.
var ErrNotWaiting = agents.ErrNotWaiting

// RunReport is the runs of one host, the oldest first.
type RunReport struct {
	Host string      `json:"host"`
	Runs []RunStatus `json:"runs"`
	More int         `json:"more,omitempty"` // that there was no room for
}

// mostRuns keeps a report within a message.
const mostRuns = 1000

func (h Host) runs(context.Context, none) (RunReport, error) {
	runs := h.Fleet.Runs()
	slices.SortFunc(runs, func(a, b RunStatus) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Session, b.Session)) })
	n := min(len(runs), mostRuns)
	return RunReport{Host: h.Name, Runs: append([]RunStatus{}, runs[:n]...), More: len(runs) - n}, nil
}

// ReadRuns reads the answer of a host on RunsSubject.
func ReadRuns(data []byte) (RunReport, error) {
	r := RunReport{}
	err := json.Unmarshal(data, &r)
	return r, err
}

// A Peek says which agent to show.
type Peek struct {
	Agent string `json:"agent"`
}

func (h Host) prompt(_ context.Context, p Peek) (Preview, error) {
	shown, ok := h.Fleet.Preview(p.Agent)
	if !ok {
		return Preview{}, coded(codeNotFound, "there is no agent %q", p.Agent)
	}
	shown.System = h.Redact(shown.System)
	for i := range shown.Bindings {
		shown.Bindings[i].System = h.Redact(shown.Bindings[i].System)
	}
	return shown, nil
}
