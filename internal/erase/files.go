package erase

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"

	"agenthost/bus"
	"agenthost/bus/records"

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
	for _, stream := range []string{bus.SessionsStream, bus.InboundStream, bus.OutboundStream, bus.RoutesStream, bus.DeadStream} {
		if err := e.archive.Unnamed(ctx, stream, left); err != nil && !e.absent(ctx, stream, err) {
			return err
		}
	}
	for name := range left {
		gone, err := e.eraseFile(ctx, name)
		if err != nil {
			return err
		}
		if gone {
			e.add(Files, 1)
		}
	}
	return nil
}

// eraseFile has NATS overwrite an object, and what says that there was one.
func (e *eraser) eraseFile(ctx context.Context, name string) (gone bool, err error) {
	about := "$O." + bus.FilesBucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
	rec, err := e.reader.Last(ctx, filesStream, about)
	if errors.Is(err, records.ErrNotFound) || err != nil && e.absent(ctx, filesStream, err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	info := jetstream.ObjectInfo{}
	_ = json.Unmarshal(rec.Data, &info) // what cannot be read has no chunks
	subjects := []string{about}
	if info.NUID != "" {
		subjects = []string{"$O." + bus.FilesBucket + ".C." + info.NUID, about} // what finds the chunks goes last
	}
	for _, subject := range subjects {
		var seqs []uint64
		for rec, err := range e.tail(ctx, filesStream, subject) {
			if err != nil {
				return false, err
			}
			seqs = append(seqs, rec.Seq)
		}
		if _, err := records.Overwrite(ctx, e.js, filesStream, seqs); err != nil {
			return false, err
		}
	}
	return !info.Deleted, nil
}
