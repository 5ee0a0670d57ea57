package erase

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/erasure"
	"agenthost/internal/pairing"
	"agenthost/session"
	"agenthost/tools/memory"

	"github.com/nats-io/nats.go/jetstream"
)

// entries calls each with what a bucket has at keys that match filter.
func (e *eraser) entries(ctx context.Context, bucket, filter string, each func(key string, value []byte) error) error {
	for entry, err := range records.Entries(ctx, e.js, bucket, filter) {
		if err != nil && e.absent(ctx, "KV_"+bucket, err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read bucket %s: %w", bucket, err)
		}
		if err := each(entry.Key(), entry.Value()); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes entries of a bucket that judge says, with their history.
func (e *eraser) drop(ctx context.Context, kind, bucket string, judge func(key string, value []byte) bool) error {
	var keys []string
	err := e.entries(ctx, bucket, ">", func(key string, value []byte) error {
		if judge(key, value) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	if e.opt.DryRun {
		e.add(kind, len(keys))
		return nil
	}
	if bucket == bus.SpendBucket { // into which no command may write; hosts do not follow it
		return e.purge(ctx, kind, bucket, keys)
	}
	kv, err := e.js.KeyValue(ctx, bucket)
	if err != nil {
		return fmt.Errorf("open bucket %s: %w", bucket, err)
	}
	if personalKeys[bucket] {
		e.mark(bucket, keys)
		if err := e.writeJournal(ctx); err != nil {
			return err
		}
	}
	for _, key := range keys {
		err := error(nil)
		if personalKeys[bucket] {
			err = e.purgeEntry(ctx, bucket, key)
		}
		if err == nil {
			err = kv.Purge(ctx, key)
		}
		if err != nil {
			return fmt.Errorf("delete from bucket %s: %w", bucket, err)
		}
		e.add(kind, 1)
	}
	return nil
}

// personalKeys are the buckets whose keys can come of the person: the markers of their
// deletions go, too. In others they stay. When the last message of a key is gone, a server
// that was killed brings back those that later ones have replaced. What is deleted as the
// last itself does not come back, so here that is done before the marker is put.
var personalKeys = map[string]bool{bus.PairingsBucket: true, bus.RequestsBucket: true, bus.ChannelsBucket: true}

// purge deletes entries without a marker.
func (e *eraser) purge(ctx context.Context, kind, bucket string, keys []string) error {
	for _, key := range keys {
		if err := e.purgeEntry(ctx, bucket, key); err != nil {
			return fmt.Errorf("delete from bucket %s: %w", bucket, err)
		}
		e.add(kind, 1)
	}
	return nil
}

func (e *eraser) purgeEntry(ctx context.Context, bucket, key string) error {
	stream, err := e.js.Stream(ctx, "KV_"+bucket)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucket+"."+key))
	}
	return err
}

// mark notes keys whose markers are to be deleted, each once: every erasure that is cut off leaves
// a journal that has those of the ones before.
func (e *eraser) mark(bucket string, keys []string) {
	e.markers[bucket] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(e.markers[bucket], keys))))
}

// deleteMarkers deletes what says that an entry was deleted: its key can come of the person.
func (e *eraser) deleteMarkers(ctx context.Context) error {
	for bucket, keys := range e.markers {
		stream, err := e.js.Stream(ctx, "KV_"+bucket)
		if err != nil {
			return fmt.Errorf("open bucket %s: %w", bucket, err)
		}
		for _, key := range keys {
			subject := "$KV." + bucket + "." + key
			rec, err := e.reader.Last(ctx, "KV_"+bucket, subject)
			if errors.Is(err, records.ErrNotFound) || err == nil && rec.Header.Get("KV-Operation") == "" { // it is there again
				continue
			}
			if err == nil { // a bucket lets none of its messages be deleted but so
				err = stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(rec.Seq+1))
			}
			if err != nil {
				return fmt.Errorf("delete from bucket %s: %w", bucket, err)
			}
		}
	}
	clear(e.markers)
	return nil
}

// ofAgent reports whether the key of an entry is that of an agent to look at.
func (e *eraser) ofAgent(key string) bool {
	return e.opt.Agent == "" || strings.HasPrefix(key, e.opt.Agent+".")
}

// approvals are deleted before the sessions in which they wait.
func (e *eraser) approvals(ctx context.Context) error {
	return errors.Join(e.drop(ctx, Approvals, bus.WaitingBucket, e.theirWait), e.drop(ctx, Approvals, bus.AllowedBucket, e.theirYes))
}

func (e *eraser) buckets(ctx context.Context) error {
	return errors.Join(
		e.drop(ctx, Notes, bus.MemoryBucket, e.theirNote),
		e.drop(ctx, Pairings, bus.PairingsBucket, e.theirPairing),
		e.drop(ctx, Requests, bus.RequestsBucket, e.theirRequest),
		e.drop(ctx, Budgets, bus.SpendBucket, e.theirSpending),
		e.drop(ctx, Channels, bus.ChannelsBucket, e.theirChannel),
	)
}

// findNotes notes what is remembered of the person: its words go elsewhere, too.
func (e *eraser) findNotes(ctx context.Context) error {
	return e.entries(ctx, bus.MemoryBucket, ">", func(key string, value []byte) error {
		n := memory.Note{}
		if json.Unmarshal(value, &n) == nil && e.ofAgent(key) && (e.r.ownKey(n.Peer) || e.r.ownKey(n.Session) || e.ofTheirRun(key)) {
			e.r.quotes.addText(n.Text)
		}
		return nil
	})
}

// theirNote: a note about the person, or that was made in their chat; one for all chats
// that names them; and any that has their words.
func (e *eraser) theirNote(key string, value []byte) bool {
	n := memory.Note{}
	if !e.ofAgent(key) || json.Unmarshal(value, &n) != nil {
		return false
	}
	return e.r.ownKey(n.Peer) || e.r.ownKey(n.Session) || e.ofTheirRun(key) || e.r.quotes.replace(n.Text) != n.Text ||
		n.Peer == "" && e.r.names.replace(n.Text) != n.Text
}

func (e *eraser) theirWait(key string, value []byte) bool {
	head := struct{ Session string }{}
	_ = json.Unmarshal(value, &head) // an entry without one may name them all the same
	return e.ofAgent(key) && (e.r.ownID(key) || e.r.data(value, e.view(session.Key(head.Session))) != nil)
}

func (e *eraser) theirYes(key string, value []byte) bool {
	yes := struct{ By, Session string }{}
	_ = json.Unmarshal(value, &yes) // an entry without them belongs to no person
	return e.ofAgent(key) && (e.r.ownID(key) || e.r.ownKey(yes.Session) || yes.By == e.r.person.From || e.r.account(yes.By))
}

func (e *eraser) theirPairing(_ string, value []byte) bool {
	p := pairing.Pairing{}
	if json.Unmarshal(value, &p) != nil || e.opt.Agent != "" && p.Agent != e.opt.Agent {
		return false
	}
	if !e.r.account(p.Person()) {
		return false
	}
	place, _, _ := strings.Cut(p.Person(), "/")
	e.place(place)
	e.name(p.Name)
	return true
}

func (e *eraser) theirRequest(key string, value []byte) bool {
	if agent, sid, ok := session.TombstoneOf(key); ok {
		return e.theirTombstone(agent, sid)
	}
	request := struct{ Agent, Conversation, ID string }{}
	if json.Unmarshal(value, &request) != nil || e.opt.Agent != "" && request.Agent != e.opt.Agent {
		return false
	}
	is := func(key session.Key) bool {
		place, rest, _ := strings.Cut(string(key), "/dm/")
		channel, _, _ := strings.Cut(place, ".")
		return channel == bus.DoorOpenAI && rest == erasure.Escape.Replace(request.Conversation)
	}
	for key := range e.r.keys {
		if is(key) {
			return true
		}
	}
	for m := range e.said { // in a conversation in which others write as well
		if m.ID == request.ID && m.Agent == request.Agent && is(m.Session) {
			return true
		}
	}
	return false
}

// theirTombstone: the record of a deleted session has a name that is made of the agent and of them.
func (e *eraser) theirTombstone(agent, sid string) bool {
	if e.opt.Agent != "" && agent != e.opt.Agent {
		return false
	}
	is := func(key session.Key) bool { return sid == session.SID(agent, key) }
	for key := range e.r.keys {
		if is(key) {
			return true
		}
	}
	for place := range e.places {
		if is(session.Key(place + "/dm/" + e.r.person.From)) {
			return true
		}
	}
	return false
}

// theirSpending: the records of a person end with a name that is made of the agent and of them.
func (e *eraser) theirSpending(key string, _ []byte) bool {
	agent, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	if !e.ofAgent(key) {
		return false
	}
	is := func(place string) bool { return last == session.SID(agent, session.Key(place+"/"+e.r.person.From)) }
	for place := range e.places {
		if is(place) {
			return true
		}
	}
	return e.r.person.Place != "" && is(e.r.person.Place)
}

// theirChannel: what a channel shows in their chat, or has noted under their name.
func (e *eraser) theirChannel(key string, value []byte) bool {
	parts := strings.SplitN(key, ".", 4)
	if len(parts) < 4 {
		return false
	}
	place := parts[0]
	if parts[1] != "=" {
		place += "." + parts[1]
	}
	if !e.r.person.At(place) || e.opt.Agent != "" {
		return false
	}
	shown := struct{ Chat string }{}
	if parts[2] == "preview" && json.Unmarshal(value, &shown) == nil {
		chat, _, _ := strings.Cut(shown.Chat, "\x00") // the thread follows
		return chat == e.r.person.From || e.r.chats[place+"/"+chat] || strings.HasSuffix(chat, "/"+e.r.person.From)
	}
	name, err := base64.RawURLEncoding.DecodeString(strings.TrimSuffix(parts[3], "_"))
	return parts[2] == "channel" && err == nil && e.r.names.replace(string(name)) != string(name)
}
