package session

import (
	"context"
	"fmt"
	"maps"
	"time"

	"agenthost/bus"
)

// messageStreams keep messages that may still be read: work for agents, replies that their
// channels have not brought yet, and what can be sent again.
var messageStreams = []string{bus.InboundStream, bus.RoutesStream, bus.SchedulesStream, bus.OutboundStream, bus.DeadStream}

// inMessages are those of objects that a message names. Whether it has been read already is
// not asked: its stream deletes it after some days.
func (a *Archive) inMessages(ctx context.Context, objects map[string]bool) (map[string]bool, error) {
	left := maps.Clone(objects)
	for _, stream := range messageStreams {
		if err := a.Unnamed(ctx, stream, left); err != nil {
			return nil, err
		}
	}
	named := maps.Clone(objects)
	maps.DeleteFunc(named, func(name string, _ bool) bool { return left[name] })
	return named, nil
}

// DeleteLeft deletes the objects that Delete and Prune have left because messages named
// them, once no message does. It looks at those alone that were left, or last found in
// use, before a time. One that a session names again is that session's.
func (a *Archive) DeleteLeft(ctx context.Context, before time.Time) (deleted int, err error) {
	deleted, err = a.deleteLeft(ctx, before)
	if err != nil {
		err = fmt.Errorf("delete objects that were left: %w", err)
	}
	return deleted, err
}

func (a *Archive) deleteLeft(ctx context.Context, before time.Time) (deleted int, err error) {
	files, err := a.store.Files.Left(ctx)
	if err != nil {
		return 0, err
	}
	objects := map[string]bool{}
	for _, f := range files {
		if f.Since.Before(before) {
			objects[f.Name] = true
		}
	}
	inMessages, err := a.inMessages(ctx, objects)
	if err != nil {
		return 0, err
	}
	unnamed := maps.Clone(objects)
	maps.DeleteFunc(unnamed, func(name string, _ bool) bool { return inMessages[name] })
	if err := a.Unnamed(ctx, bus.SessionsStream, unnamed); err != nil { // it has the most: what it need not be read for comes before
		return 0, err
	}
	for _, f := range files {
		gone := false
		switch {
		case !objects[f.Name]:
		case inMessages[f.Name]:
			err = a.store.Files.Leave(ctx, f.Name)
		case unnamed[f.Name]:
			gone, err = a.store.Files.DeleteLeft(ctx, f)
		default:
			err = a.store.Files.Keep(ctx, f.Name)
		}
		if gone {
			deleted++
		}
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}
