package erase

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
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
	Said    []saidMessage       `json:"said"`
	Notes   []string            `json:"notes"`
	Chats   []string            `json:"chats"`
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
		if !strings.HasPrefix(rec.Subject, prefix) || json.Unmarshal(rec.Data, &info) != nil {
			continue
		}
		if info.Deleted { // but what the bucket has said of it is still there
			e.journal.found = append(e.journal.found, info.Name)
			continue
		}
		whole, err := e.isWhole(ctx, info)
		if err != nil {
			return err
		}
		if !whole { // its erasure was cut off while it deleted this, as the last of all
			e.journal.found = append(e.journal.found, info.Name)
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

// isWhole reports whether all chunks of an object are there: the client waits for those that are not.
func (e *eraser) isWhole(ctx context.Context, info jetstream.ObjectInfo) (bool, error) {
	n := uint32(0)
	for _, err := range e.tail(ctx, filesStream, "$O."+bus.FilesBucket+".C."+info.NUID) {
		if err != nil {
			return false, err
		}
		n++
	}
	return n == info.Chunks, nil
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
	for _, one := range j.Said {
		e.addSaid(one.message, one.Said)
	}
	for _, id := range j.Notes {
		e.notes[id] = true
	}
	for _, chat := range j.Chats {
		e.r.chats[chat] = true
	}
	for _, name := range j.Objects {
		e.objects[name] = true
	}
	for bucket, keys := range j.Markers {
		e.mark(bucket, keys)
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
		Said: e.saidList(), Notes: slices.Sorted(maps.Keys(e.notes)), Chats: slices.Sorted(maps.Keys(e.r.chats)),
		Takes: slices.Sorted(maps.Keys(e.takes)), Places: slices.Sorted(maps.Keys(e.places)), Objects: slices.Sorted(maps.Keys(e.objects)), Markers: e.markers,
	}
	size := len(j.Words) + len(j.Names) + len(j.Keys) + len(j.Tasks) + len(j.Takes) + len(j.Said) + len(j.Notes) + len(j.Chats) + len(j.Places) + len(j.Objects)
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
	if _, err := store.Put(ctx, bus.FileMeta(e.js.Conn(), name), bytes.NewReader(data)); err != nil {
		return fmt.Errorf("write the journal of the erasure: %w", err)
	}
	if e.journal.name != "" {
		e.journal.found = append(e.journal.found, e.journal.name)
	}
	e.journal.name, e.journal.size = name, size
	return nil
}

func (e *eraser) deleteJournals(ctx context.Context) error {
	if err := e.deleteBegunJournals(ctx); err != nil {
		return err
	}
	if e.journal.name != "" {
		e.journal.found = append(e.journal.found, e.journal.name)
	}
	for _, name := range e.journal.found {
		if err := e.eraseJournal(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// deleteBegunJournals deletes the chunks of journals that were cut off while they were written:
// no object has them.
func (e *eraser) deleteBegunJournals(ctx context.Context) error {
	whole := map[string]bool{}
	for rec, err := range e.tail(ctx, filesStream, "$O."+bus.FilesBucket+".M.*") {
		if err != nil {
			return err
		}
		info := jetstream.ObjectInfo{}
		_ = json.Unmarshal(rec.Data, &info) // what cannot be read has no chunks
		whole[info.NUID] = true
	}
	head, err := json.Marshal(journal{Person: e.opt.Person.String(), Agent: e.opt.Agent})
	if err != nil {
		return err
	}
	head, _, _ = bytes.Cut(head, []byte(`,"words"`))
	stream, err := e.js.Stream(ctx, filesStream)
	switch {
	case err != nil && e.absent(ctx, filesStream, err):
		return nil
	case err != nil:
		return err
	}
	const chunks = "$O." + bus.FilesBucket + ".C."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(chunks+"*"))
	if err != nil {
		return fmt.Errorf("list the chunks of %s: %w", filesStream, err)
	}
	for subject := range info.State.Subjects {
		if whole[strings.TrimPrefix(subject, chunks)] {
			continue
		}
		var seqs []uint64
		for rec, err := range e.tail(ctx, filesStream, subject) {
			if err != nil {
				return err
			}
			if len(seqs) == 0 && !bytes.HasPrefix(rec.Data, head) {
				break
			}
			seqs = append(seqs, rec.Seq)
		}
		if _, err := records.Overwrite(ctx, e.js, filesStream, seqs); err != nil {
			return err
		}
	}
	return nil
}
