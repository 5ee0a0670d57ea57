package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"agenthost/bus"
)

// taken is a subject of what is restored.
type taken struct{ stream, subject string }

// overlap is an error when a stream of others takes subjects of what is to be restored: the
// server would refuse that in the middle, after streams without messages were removed.
func (r *restorer) overlap(ctx context.Context, m Manifest) error {
	ours := []taken{{bus.RestoreStream, bus.RestoreSubject}}
	for _, s := range m.Streams {
		config := struct{ Subjects []string }{}
		if err := json.Unmarshal(s.Config, &config); err != nil {
			return fmt.Errorf("read the configuration of stream %s: %w", s.Name, err)
		}
		for _, subject := range config.Subjects {
			ours = append(ours, taken{s.Name, subject})
		}
	}
	replaced := append(names(), bus.UpgradeStream, bus.RestoreStream)
	list := r.js.ListStreams(ctx)
	err := error(nil)
	for info := range list.Info() { // to the end: a list that is left goes on until ctx ends
		if err == nil && !slices.Contains(replaced, info.Config.Name) {
			err = overlapOf(info.Config.Name, info.Config.Subjects, ours)
		}
	}
	if list.Err() != nil {
		return fmt.Errorf("list streams: %w", list.Err())
	}
	return err
}

func overlapOf(stream string, subjects []string, ours []taken) error {
	for _, subject := range subjects {
		if i := slices.IndexFunc(ours, func(t taken) bool { return bus.Overlap(subject, t.subject) }); i >= 0 {
			return fmt.Errorf("stream %s takes %s, which overlaps with %s of %s: change its subjects, delete it, or name another NATS with --server",
				stream, subject, ours[i].subject, ours[i].stream)
		}
	}
	return nil
}
