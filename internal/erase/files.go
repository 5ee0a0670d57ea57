package erase

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
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

// A journal is what an erasure knows that it could not find again once it has begun: when
// it is cut off, the next one for the same person goes on with it. It is an object of
// AGENT_FILES meanwhile.
type journal struct {
	Person  string              `json:"person"`
	Agent   string              `json:"agent"`
	Words   []string            `json:"words"`
	Names   []string            `json:"names"`
	Keys    []session.Key       `json:"keys"`
	IDs     []string            `json:"ids"`
	Tasks   []string            `json:"tasks"`
	Places  []string            `json:"places"`
	Takes   []session.Key       `json:"takes"`
	Objects []string            `json:"objects"`
	Markers map[string][]string `json:"markers"`

	name  string
	size  int
	found []string // of erasures that were cut off
}

const journalPrefix = "erasure-"

func (e *eraser) readJournals(ctx context.Context) error {
	prefix := "$O." + bus.FilesBucket + ".M." + base64.URLEncoding.EncodeToString([]byte(journalPrefix))[:10]
	for rec, err := range e.tail(ctx, filesStream, "$O."+bus.FilesBucket+".M.*") {
		if err != nil {
			return err
		}
		info := jetstream.ObjectInfo{}
		if !strings.HasPrefix(rec.Subject, prefix) || json.Unmarshal(rec.Data, &info) != nil || info.Deleted {
			continue
		}
		data, err := e.file(ctx, info.Name)
		if err != nil {
			return fmt.Errorf("read the journal of an erasure that was cut off: %w", err)
		}
		j := journal{}
		if json.Unmarshal(data, &j) != nil || j.Person != e.opt.Person.String() || j.Agent != e.opt.Agent {
			continue
		}
		e.take(j)
		e.journal.found = append(e.journal.found, info.Name)
	}
	return nil
}

func (e *eraser) take(j journal) {
	for _, text := range j.Words {
		e.r.quotes.add(text)
	}
	for _, name := range j.Names {
		e.name(name)
	}
	for _, key := range j.Keys {
		e.r.keys[key] = true
	}
	for _, id := range j.IDs {
		e.r.ids[id] = true
	}
	for _, id := range j.Tasks {
		e.r.tasks[id] = true
	}
	for _, place := range j.Places {
		e.place(place)
	}
	for _, key := range j.Takes {
		e.takes[key] = true
	}
	for _, name := range j.Objects {
		e.objects[name] = true
	}
	for bucket, keys := range j.Markers {
		e.markers[bucket] = append(e.markers[bucket], keys...)
	}
}

// writeJournal writes what is known, when that has grown.
func (e *eraser) writeJournal(ctx context.Context) error {
	if e.opt.DryRun {
		return nil
	}
	j := journal{
		Person: e.opt.Person.String(), Agent: e.opt.Agent, Words: slices.Sorted(maps.Keys(e.r.quotes.known)), Names: slices.Sorted(maps.Keys(e.names)),
		Keys: slices.Sorted(maps.Keys(e.r.keys)), IDs: slices.Sorted(maps.Keys(e.r.ids)), Tasks: slices.Sorted(maps.Keys(e.r.tasks)),
		Takes: slices.Sorted(maps.Keys(e.takes)), Places: slices.Sorted(maps.Keys(e.places)), Objects: slices.Sorted(maps.Keys(e.objects)), Markers: e.markers,
	}
	size := len(j.Words) + len(j.Names) + len(j.Keys) + len(j.Tasks) + len(j.Takes) + len(j.Places) + len(j.Objects)
	for _, keys := range j.Markers {
		size += len(keys)
	}
	if size == 0 || size == e.journal.size {
		return nil
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	store, err := e.js.ObjectStore(ctx, bus.FilesBucket)
	if err != nil {
		return err
	}
	name := journalPrefix + nuid.Next()
	if _, err := store.PutBytes(ctx, name, data); err != nil {
		return fmt.Errorf("write the journal of the erasure: %w", err)
	}
	if e.journal.name != "" {
		e.journal.found = append(e.journal.found, e.journal.name)
	}
	e.journal.name, e.journal.size = name, size
	return nil
}

func (e *eraser) deleteJournals(ctx context.Context) error {
	if e.journal.name != "" {
		e.journal.found = append(e.journal.found, e.journal.name)
	}
	for _, name := range e.journal.found {
		if _, err := e.eraseFile(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
