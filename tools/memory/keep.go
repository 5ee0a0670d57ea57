package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// keep stores n, and deletes what has no room beside it. It returns the note
// that says so already when there is one.
func (m *Memory) keep(ctx context.Context, n Note) (Note, error) {
	s, err := m.shelf(ctx, n.Agent)
	if err != nil {
		return Note{}, err
	}
	twin, crowdedOut := s.prepare(n, m.opt.MaxNotes)
	if twin.ID != "" {
		return twin, nil
	}
	kv, err := m.js.KeyValue(ctx, bus.MemoryBucket)
	if err != nil {
		return Note{}, err
	}
	for _, old := range crowdedOut {
		if err := m.remove(ctx, kv, s, old); err != nil {
			return Note{}, err
		}
	}
	data, err := json.Marshal(n)
	if err != nil {
		return Note{}, err
	}
	rev, err := kv.Create(ctx, n.key(), data)
	if errors.Is(err, jetstream.ErrKeyExists) { // by the same call, before its host died
		return n, nil
	}
	if err != nil {
		return Note{}, err
	}
	s.put(n, rev)
	return n, nil
}

func (m *Memory) remove(ctx context.Context, kv jetstream.KeyValue, s *shelf, n Note) error {
	if err := kv.Purge(ctx, n.key()); err != nil { // the marker stays: see bus.MemoryMarkers
		return fmt.Errorf("delete note %s: %w", n.ID, err)
	}
	s.drop(n.ID)
	return nil
}

// countUse tells the bucket that a note was used. It is not waited for: when
// another host was quicker, or the note is gone by now, it is not counted.
func (m *Memory) countUse(u use) {
	data, err := json.Marshal(u.note)
	if err == nil {
		msg := nats.NewMsg("$KV." + bus.MemoryBucket + "." + u.note.key())
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(u.rev, 10))
		msg.Data = data
		err = m.js.Conn().PublishMsg(msg)
	}
	if err != nil {
		m.opt.Log.Debug().Err(err).Str("agent", u.note.Agent).Msg("count the use of a note")
	}
}

// All is the notes of agent, or of all agents, that are of person: about them,
// or made in their chat. Person is the key of a session; empty: all.
func All(ctx context.Context, js jetstream.JetStream, agent, person string) (list []Note, err error) {
	filter := "*.*.*"
	if agent != "" {
		filter = agent + ".*.*"
	}
	for entry, err := range records.Entries(ctx, js, bus.MemoryBucket, filter) {
		if err != nil {
			return nil, fmt.Errorf("list notes: %w", err)
		}
		if n := readable(entry); person == "" || n.Peer == person || n.Session == person || personOf(n.Session) == person {
			list = append(list, n)
		}
	}
	return list, nil
}

// readable reads an entry. What no host has written is shown as it is, so that
// it can be deleted.
func readable(entry jetstream.KeyValueEntry) Note {
	n, err := read(entry)
	if err != nil {
		agent, _, _ := strings.Cut(entry.Key(), ".")
		n = Note{Agent: agent, Text: "this entry is none of a host: " + err.Error(), At: entry.Created()}
	}
	n.ID = idOf(entry.Key())
	n.entry = entry.Key()
	return n
}

func idOf(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// Delete deletes a note of All for good.
func Delete(ctx context.Context, js jetstream.JetStream, n Note) error {
	kv, err := js.KeyValue(ctx, bus.MemoryBucket)
	if err == nil {
		err = kv.Purge(ctx, n.entry)
	}
	if err != nil {
		return fmt.Errorf("delete note %s: %w", n.ID, err)
	}
	return nil
}
