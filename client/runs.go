package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"agenthost/agents"

	"github.com/nats-io/nats.go/jetstream"
)

// RunsSubject is where every host answers with its runs.
const RunsSubject = "agenthost.runs"

// RunStatus is a run under way, see agents.RunStatus.
type RunStatus = agents.RunStatus

// RunReport is the runs of one host, the oldest first.
type RunReport struct {
	Host string      `json:"host"`
	Runs []RunStatus `json:"runs"`
	More int         `json:"more,omitempty"` // that there was no room for
}

// ReadRuns reads the answer of a host on RunsSubject.
func ReadRuns(data []byte) (RunReport, error) {
	r := RunReport{}
	err := json.Unmarshal(data, &r)
	return r, err
}

// A Run is a run of the fleet. The host of one that waits is the one that asked.
type Run struct {
	RunStatus
	Host string `json:"host,omitempty"`
}

// A RunList is the runs of the fleet.
type RunList struct {
	Runs []Run          // the oldest first
	More map[string]int // by host, how many more it has than it has room to report
}

// phaseWaiting is that of a run that waits for a person or another agent.
const phaseWaiting = "waiting"

// Runs lists the runs that are under way on the hosts, and those that wait for a
// person or another agent.
func (c *Client) Runs(ctx context.Context) (RunList, error) {
	reports, err := gather(ctx, c.nc, RunsSubject, quietLeast, ReadRuns, func(RunReport) bool { return false })
	if err != nil {
		return RunList{}, err
	}
	waiting, err := allWaiting(ctx, c.js)
	if errors.Is(err, jetstream.ErrBucketNotFound) && len(reports) > 0 {
		err = nil
	}
	if err != nil {
		return RunList{}, hintBucket(err)
	}
	list := RunList{Runs: joinRuns(reports, waiting), More: map[string]int{}}
	for _, r := range reports {
		if r.More > 0 {
			list.More[r.Host] = r.More
		}
	}
	return list, nil
}

// joinRuns joins what the hosts have under way with what waits on none, the
// oldest first.
func joinRuns(reports []RunReport, waiting []Waiting) []Run {
	runs, at := []Run{}, map[string]int{} // of each run
	for _, report := range reports {
		for _, r := range report.Runs {
			if r.Run != "" {
				at[r.Run] = len(runs)
			}
			runs = append(runs, Run{r, report.Host})
		}
	}
	for _, w := range waiting {
		i, known := at[w.Run]
		if !known {
			i = len(runs)
			at[w.Run] = i
			runs = append(runs, Run{RunStatus{
				Agent: w.Agent, Session: w.Session, Run: w.Run, Since: w.AskedAt, Phase: phaseWaiting, Model: w.Model,
			}, w.Host})
		}
		if runs[i].Phase == phaseWaiting {
			runs[i].add(w)
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Since.Compare(b.Since) })
	return runs
}

// add notes one more thing that a run waits for.
func (r *Run) add(w Waiting) {
	what := w.Kind
	if w.Kind == ForDelegate {
		what = w.To
	}
	r.For = append(r.For, what)
	if w.AskedAt.Before(r.Since) {
		r.Since = w.AskedAt
	}
}
