package erase

import (
	"context"
	"errors"
	"maps"
	"slices"

	"agenthost/bus"
	"agenthost/bus/filestore"

	"github.com/nats-io/nats.go/jetstream"
)

// filesStream is the stream behind the object store.
const filesStream = "OBJ_" + bus.FilesBucket

// file reads an object; nil when it is gone.
func (e *eraser) file(ctx context.Context, name string) ([]byte, error) {
	store, err := e.js.ObjectStore(ctx, bus.FilesBucket)
	if err != nil {
		return nil, err
	}
	data, err := store.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil
	}
	return data, err
}

// files deletes the objects that only the person's things have named.
func (e *eraser) files(ctx context.Context) error {
	left := maps.Clone(e.objects)
	delete(left, "")
	if len(left) == 0 {
		return nil
	}
	if e.opt.DryRun { // what names them is all there
		e.add(Files, len(left))
		return nil
	}
	var marked []filestore.LeftFile // before the search: what is stored again from then on stays
	for _, name := range slices.Sorted(maps.Keys(left)) {
		file, known, err := e.toErase(ctx, name)
		if err != nil {
			return err
		}
		if known {
			marked = append(marked, file)
		}
	}
	for _, stream := range []string{bus.SessionsStream, bus.InboundStream, bus.OutboundStream, bus.RoutesStream, bus.SchedulesStream, bus.DeadStream} {
		if err := e.archive.Unnamed(ctx, stream, left); err != nil && !e.absent(ctx, stream, err) {
			return err
		}
	}
	for _, file := range marked {
		if !left[file.Name] {
			continue // once nothing names it, it goes with the files that sessions have left
		}
		end, err := e.store.Erase(ctx, file)
		if err != nil {
			return err
		}
		switch end {
		case filestore.Erased:
			e.add(Files, 1)
		case filestore.MarkedAgain:
			e.busy++
			continue
		}
		delete(e.objects, file.Name) // what has that name from now on was sent again
	}
	return nil
}

// toErase is ToErase, also without the bucket.
func (e *eraser) toErase(ctx context.Context, name string) (file filestore.LeftFile, known bool, err error) {
	file, known, err = e.store.ToErase(ctx, name)
	if err != nil && e.absent(ctx, filesStream, err) {
		return file, false, nil
	}
	return file, known, err
}

// eraseJournal erases an object that nothing names.
func (e *eraser) eraseJournal(ctx context.Context, name string) error {
	file, known, err := e.toErase(ctx, name)
	if err == nil && known {
		_, err = e.store.Erase(ctx, file)
	}
	return err
}
