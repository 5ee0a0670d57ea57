package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
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
	before := c.nc.LastError()
	reports, err := gather(ctx, c.nc, RunsSubject, quietLeast, ReadRuns, func(RunReport) bool { return false })
	if err == nil && len(reports) == 0 {
		err = questionRefused(c.nc, RunsSubject, before)
	}
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

// A Stop is the order to end the run of a session, whether it is under way or
// waits for a person.
type Stop struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // its key, such as web/dm/7
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"` // shown to the person
	Door    string `json:"-"`                // by which way it is given; empty: bus.DoorAPI
}

// Message is the message with the order for the agent, to be signed by a
// signing.Signer. The host publishes on replyTo, when it is not empty, what has become
// of it.
func (s Stop) Message(replyTo string) (*nats.Msg, error) {
	if s.Session == "" {
		return nil, errors.New("stop a run: no session is named")
	}
	msg, err := agents.StopMessageBy(cmp.Or(s.Door, bus.DoorAPI), s.Agent, session.Key(s.Session), s.By, s.Reason, replyTo)
	return checked(msg, err)
}

// Abort stops the run of a session and waits at most within for the report of the
// host; 0: OrderWithin. The key of the session may be shortened for as long as it
// means one run of the agent. That there is no run makes a *RefusedError.
func (c *Client) Abort(ctx context.Context, s Stop, within time.Duration) (Outcome, error) {
	key, err := c.runKey(ctx, s.Agent, s.Session)
	if err != nil {
		return Outcome{}, err
	}
	s.Session, s.Door = key, cmp.Or(s.Door, c.door)
	o := Outcome{Session: key}
	r, err := c.listenForReport()
	if err != nil {
		return o, err
	}
	defer r.close()
	msg, err := s.Message(r.inbox.Subject)
	if err != nil {
		return o, err
	}
	if o.Stored, err = r.give(ctx, s.Agent, msg, within); err != nil {
		err = fmt.Errorf("stop %s of %s: %w", key, s.Agent, err)
	}
	return o, err
}

// runKey is the key that short means among the sessions of an agent with a run.
// Without any that fits, and while they cannot be listed, it is short itself: an
// order is stored for the next host in any case.
func (c *Client) runKey(ctx context.Context, agent, short string) (string, error) {
	if known, err := c.Sessions().has(ctx, agent, short); known || err != nil {
		return short, nil //nolint:nilerr // as below
	}
	list, err := c.Runs(ctx)
	if err != nil {
		return short, nil //nolint:nilerr // what is wrong keeps the order back, too
	}
	var keys []string
	for _, r := range list.Runs {
		if r.Agent == agent {
			keys = append(keys, r.Session)
		}
	}
	whole, err := Resolve("session", short, keys)
	return cmp.Or(whole, short), err
}
