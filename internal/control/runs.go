package control

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"agenthost/agents"
	"agenthost/client"
	"agenthost/session"
)

// These keep a report within a message.
const (
	mostRuns   = 1000
	mostInputs = 256 << 10 // bytes of the ids of the inputs of all runs
)

func (h Host) runs(context.Context, none) (client.RunReport, error) {
	runs := h.Fleet.Runs()
	slices.SortFunc(runs, func(a, b agents.RunStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Session, b.Session))
	})
	n, room := min(len(runs), mostRuns), mostInputs
	for i := range runs[:n] {
		for _, id := range runs[i].Inputs {
			room -= len(id) + len(`"",`)
		}
		if room < 0 {
			runs[i].Inputs = nil
		}
	}
	return client.RunReport{Host: h.Name, Runs: append([]agents.RunStatus{}, runs[:n]...), More: len(runs) - n}, nil
}

// stream answers a client that joins a stream late. Only the host of the
// run answers, with one message or more; what names no session is answered by all.
func (h Host) stream(_ context.Context, asked client.StreamRequest) (Answers, error) {
	if asked.Agent == "" || asked.Session == "" {
		return nil, coded(client.CodeBad, "want agent and session, the key of the session")
	}
	answers := Answers{}
	for _, c := range h.Fleet.Speaking(asked.Agent, session.Key(asked.Session)) {
		answers = append(answers, c)
	}
	return answers, nil
}

func (h Host) abort(ctx context.Context, s client.Stop) error {
	if !h.Serves(s.Agent) {
		return coded(client.CodeNotFound, "there is no agent %q", s.Agent)
	}
	s.By, s.Door = callerOf(ctx).by(s.By), callerOf(ctx).door()
	msg, err := s.Message("")
	if err != nil {
		return coded(client.CodeBad, "%w", err)
	}
	return h.store(ctx, msg)
}

// stop is abort that waits for what becomes of it.
func (h Host) stop(ctx context.Context, s client.Stop) (Ordered, error) {
	s.By, s.Door = callerOf(ctx).by(s.By), callerOf(ctx).door()
	if _, err := s.Message(""); err != nil {
		return Ordered{}, coded(client.CodeBad, "%w", err)
	}
	done, err := h.client().Abort(ctx, s, 0)
	if _, none := errors.AsType[*client.RefusedError](err); none {
		err = coded(client.CodeBusy, "stop %s of %s: there is nothing to stop", done.Session, s.Agent)
	}
	return ordered(s.Agent, done), wrong(err)
}

// A RunListing is the runs of the fleet, the oldest first.
type RunListing struct {
	Runs []client.Run   `json:"runs"`
	More map[string]int `json:"more,omitempty"` // by host, how many more it has than it reports
}

func (h Host) allRuns(ctx context.Context, asked byAgent) (RunListing, error) {
	list, err := h.client().Runs(ctx)
	out := RunListing{Runs: []client.Run{}, More: list.More}
	for _, r := range seen(ctx, list.Runs, func(r client.Run) string { return r.Agent }) {
		if asked.keeps(r.Agent) {
			out.Runs = append(out.Runs, r)
		}
	}
	if callerOf(ctx).limited() {
		out.More = nil
	}
	return out, err
}
