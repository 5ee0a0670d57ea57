package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
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

// leave marks objects as left, before the search for messages that name them: storing one again from
// then on, for a message that is on its way, takes the mark away, and it stays. If the host dies in
// between, the rest is for DeleteLeft.
func (a *Archive) leave(ctx context.Context, objects map[string]bool) ([]filestore.LeftFile, error) {
	for name := range objects {
		if err := a.store.Files.Leave(ctx, name); err != nil {
			return nil, err
		}
	}
	files, err := a.store.Files.Left(ctx)
	return slices.DeleteFunc(files, func(f filestore.LeftFile) bool { return !objects[f.Name] }), err
}

// deleteUnnamed deletes those of files that no message names, unless they were stored again.
func (a *Archive) deleteUnnamed(ctx context.Context, files []filestore.LeftFile) (deleted int, err error) {
	objects := map[string]bool{}
	for _, f := range files {
		objects[f.Name] = true
	}
	named, err := a.inMessages(ctx, objects)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if named[f.Name] {
			continue
		}
		gone, err := a.store.Files.DeleteLeft(ctx, f)
		if err != nil {
			return deleted, err
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
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
