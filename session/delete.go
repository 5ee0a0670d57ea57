package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrRunning means that a run of the session is under way, and does not wait for a person.
var ErrRunning = errors.New("a run of the session is under way")

// A Deletion is what was deleted.
type Deletion struct {
	Agent   string `json:"agent"`
	SID     string `json:"sid"`
	Key     Key    `json:"key"`
	Commits int    `json:"commits"`
	Objects int    `json:"objects"`
}

// Delete deletes a session: its log and snapshot, what only it has in the
// object store, the approvals and questions that wait in it with their
// deadlines, and what is allowed in it. A message from before that comes again is
// worked on no more. A host that has it in memory is refused
// its next commit. A session with a run under way is ErrRunning, unless unfinished
// says that no host works on that run.
func (a *Archive) Delete(ctx context.Context, agent, sid string, unfinished bool) (Deletion, error) {
	d := Deletion{Agent: agent, SID: sid}
	err := a.delete(ctx, &d, unfinished)
	if err != nil && !errors.Is(err, ErrNoSession) { // which says of what
		err = fmt.Errorf("delete session %s of %s: %w", sid, agent, err)
	}
	return d, err
}

func (a *Archive) delete(ctx context.Context, d *Deletion, unfinished bool) error {
	objects, err := a.deleteLog(ctx, d, func(state run.State, _ Summary) error {
		if underWay(state) && !unfinished {
			return ErrRunning
		}
		return nil
	})
	if objects == nil {
		return err
	}
	n, failed := a.deleteObjects(ctx, objects, Subject(d.Agent, d.SID))
	d.Objects = n
	return errors.Join(err, failed)
}

// underWay reports whether something is done for the run: by its host, or by an agent that it
// waits for. A person who is asked may never answer.
func underWay(state run.State) bool {
	return state.Run != nil && (state.Phase != run.InSuspense ||
		slices.ContainsFunc(state.Run.Open(), func(call run.Call) bool { return call.Asked == run.ForDelegate }))
}

// deleteLog deletes a session but for the objects that it names, which it returns;
// nil when nothing was deleted. refuse is asked first, and again whenever the
// session was written to meanwhile.
func (a *Archive) deleteLog(ctx context.Context, d *Deletion, refuse func(run.State, Summary) error) (objects map[string]bool, err error) {
	var marker uint64
	for n := 1; marker == 0; n++ {
		state, s, err := a.State(ctx, d.Agent, d.SID)
		if err != nil {
			return nil, err
		}
		if err := refuse(state, s); err != nil {
			return nil, err
		}
		d.Key = s.Key
		if objects, d.Commits, err = a.objects(ctx, d.Agent, d.SID); err != nil {
			return nil, err
		}
		reached, err := a.reached(ctx, s.At) // all that this log has came before
		if err != nil {
			return nil, err
		}
		marker, err = a.bury(ctx, d, s.Seq)
		if err == nil {
			err = a.noteDeleted(ctx, d.Agent, d.SID, reached)
		}
		switch {
		case bus.Refused(err) && n == tries:
			return nil, ErrRunning
		case err != nil && !bus.Refused(err):
			return nil, err
		}
	}
	return objects, errors.Join(
		a.purge(ctx, bus.SessionsStream, snapshotSubject(d.Agent, d.SID), 0),
		a.purge(ctx, bus.SessionsStream, Subject(d.Agent, d.SID), marker+1),
		a.ForgetWaiting(ctx, d.Agent, d.SID),
	)
}

// bury puts an empty commit in the place of the whole log, if last is still the
// last of it.
func (a *Archive) bury(ctx context.Context, d *Deletion, last uint64) (seq uint64, err error) {
	data, err := json.Marshal(Commit{V: version, Key: d.Key})
	if err != nil {
		return 0, err
	}
	msg := nats.NewMsg(Subject(d.Agent, d.SID))
	msg.Data = data
	msg.Header.Set(rollupHeader, "sub")
	msg.Header.Set(expectedLastSubjectSequence, strconv.FormatUint(last, 10))
	ack, err := a.js.PublishMsg(ctx, msg)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// purge deletes what a stream has of a subject, up to a sequence; 0: all.
func (a *Archive) purge(ctx context.Context, stream, subject string, before uint64) error {
	s, err := a.js.Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	opts := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if before > 0 {
		opts = append(opts, jetstream.WithPurgeSequence(before))
	}
	return s.Purge(ctx, opts...)
}

// ForgetWaiting deletes what waits in a session, with its deadlines, and what is allowed
// in it.
func (a *Archive) ForgetWaiting(ctx context.Context, agent, sid string) error {
	waiting, err := a.forgetEntries(ctx, bus.WaitingBucket, agent, sid)
	for _, id := range waiting {
		err = errors.Join(err, a.purge(ctx, bus.SchedulesStream, bus.SchedulePrefix+agent+".wait-"+sid+"-"+id, 0))
	}
	_, failed := a.forgetEntries(ctx, bus.AllowedBucket, agent, sid)
	return errors.Join(err, failed)
}

// forgetEntries deletes what a bucket has of a session, and returns the ids of all that it
// ever had. The markers of these deletions stay. Hosts follow them, and without one a NATS
// server that was killed brings back what the marker replaced.
func (a *Archive) forgetEntries(ctx context.Context, bucket, agent, sid string) (ids []string, err error) {
	prefix := "$KV." + bucket + "."
	var keys []string
	err = records.Heads(ctx, a.js, "KV_"+bucket, prefix+agent+"."+sid+".*", true, func(rec records.Record) {
		ids = append(ids, rec.Subject[strings.LastIndexByte(rec.Subject, '.')+1:])
		if rec.Header.Get("KV-Operation") == "" {
			keys = append(keys, strings.TrimPrefix(rec.Subject, prefix))
		}
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil || len(keys) == 0 {
		return ids, err
	}
	kv, err := a.js.KeyValue(ctx, bucket)
	if err != nil {
		return ids, fmt.Errorf("open bucket %s: %w", bucket, err)
	}
	for _, key := range keys {
		if err := kv.Purge(ctx, key); err != nil {
			return ids, fmt.Errorf("delete from bucket %s: %w", bucket, err)
		}
	}
	return ids, nil
}

// Where a log names objects: what was too large for a message, what came with
// one, and results that were too long for a model. In a text the quotes would
// be escaped.
var (
	objectField = regexp.MustCompile(`"object"\s*:\s*"([^"\\]+)"`)
	objectNote  = regexp.MustCompile(`the whole is kept as object ([0-9a-f]{64})\]`)
)

func namedObjects(data []byte, into map[string]bool) {
	for _, form := range []*regexp.Regexp{objectField, objectNote} {
		for _, m := range form.FindAllSubmatch(data, -1) {
			into[string(m[1])] = true
		}
	}
}

// objects are those that a session names, in its log or snapshot.
func (a *Archive) objects(ctx context.Context, agent, sid string) (objects map[string]bool, commits int, err error) {
	objects = map[string]bool{}
	for _, subject := range []string{Subject(agent, sid), snapshotSubject(agent, sid)} {
		for rec, err := range a.store.Reader.Tail(ctx, bus.SessionsStream, subject, 1) {
			if err != nil {
				return nil, 0, err
			}
			if subject == Subject(agent, sid) {
				commits++
			}
			if err := a.named(ctx, rec.Data, objects); err != nil {
				return nil, 0, err
			}
		}
	}
	return objects, commits, nil
}

// named adds what a commit, a snapshot or a message names, wherever it is.
func (a *Archive) named(ctx context.Context, data []byte, into map[string]bool) error {
	namedObjects(data, into)
	c := struct{ Object, Payload string }{}
	_ = json.Unmarshal(data, &c)          // what was written from outside has neither
	namedObjects([]byte(c.Payload), into) // the message that a dead letter is about
	if c.Object == "" {
		return nil
	}
	inner, err := a.store.Files.Get(ctx, c.Object)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	namedObjects(inner, into)
	return nil
}

// deleteObjects deletes those of objects that no session names but the one whose
// log has that subject. Only when there are any does it read all the others. What a
// message names is left for DeleteLeft.
func (a *Archive) deleteObjects(ctx context.Context, objects map[string]bool, of string) (deleted int, err error) {
	if len(objects) == 0 {
		return 0, nil
	}
	for rec, err := range a.store.Reader.Tail(ctx, bus.SessionsStream, ">", 1) {
		if err != nil {
			return 0, err
		}
		if rec.Subject == of || !bytes.Contains(rec.Data, []byte("object")) {
			continue
		}
		others := map[string]bool{}
		if err := a.named(ctx, rec.Data, others); err != nil {
			return 0, err
		}
		for name := range others {
			delete(objects, name)
		}
	}
	files, err := a.leave(ctx, objects)
	if err != nil {
		return 0, err
	}
	return a.deleteUnnamed(ctx, files)
}
