package why

import (
	"context"
	"errors"
	"slices"
	"strings"

	"agenthost/client"
)

// FindLive is Find that asks the hosts for what no stream has yet: a run is in the log of
// its session with its first commit only. Without a host it is Find.
func FindLive(ctx context.Context, c *client.Client, id string, looked func(n int)) (Way, error) {
	way, err := Find(ctx, c.JetStream(), id, looked)
	if err == nil && way.State != Waiting || err != nil && !errors.Is(err, ErrUnknown) {
		return way, err
	}
	list, failed := c.Runs(ctx)
	if failed != nil {
		return way, err
	}
	for _, r := range list.Runs {
		if live(r) && (r.Run == id || slices.Contains(r.Inputs, id)) {
			way.join(r, id)
			err = nil
		}
	}
	return way, err
}

// live reports whether a run is at work, and not waiting for a person or another agent.
func live(r client.Run) bool { return r.Run != "" && r.Phase != "waiting" }

// join adds what a host has told of a run.
func (w *Way) join(r client.Run, id string) {
	w.ID, w.State = id, Running
	w.Steps = slices.DeleteFunc(w.Steps, func(s Step) bool { return s.What == Paused && s.Agent == r.Agent }) // it began before
	if w.Kind == "" {
		w.Kind = Run
	}
	if slices.ContainsFunc(w.Steps, func(s Step) bool { return s.What == Started && s.Run == r.Run }) {
		return
	}
	w.Steps = append(w.Steps, Step{
		At: r.Since.UTC(), What: Started, Agent: r.Agent, Session: r.Session, Run: r.Run, Host: r.Host,
		Detail: strings.Trim(string(r.Trigger)+", "+r.Phase, ", "),
	})
	slices.SortStableFunc(w.Steps, func(a, b Step) int { return a.At.Compare(b.At) })
}
