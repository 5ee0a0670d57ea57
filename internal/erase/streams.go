package erase

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/erasure"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What is to become of a message of a stream.
type verdict int

const (
	keep   verdict = iota
	remove         // at once
	later          // once all who have to read it have, as it is for others as well
	held           // of others, and not for us to delete: it goes when it fires or is held anew
)

// sweep deletes the messages of a stream that judge says.
func (e *eraser) sweep(ctx context.Context, kind, stream, subject string, judge func(records.Record) verdict) error {
	var gone, others []uint64
	waits := 0
	subjects := map[uint64]string{}
	for rec, err := range e.tail(ctx, stream, subject) {
		if err != nil {
			return err
		}
		switch judge(rec) {
		case remove:
			gone = append(gone, rec.Seq)
		case later:
			others, subjects[rec.Seq] = append(others, rec.Seq), rec.Subject
		case held:
			waits++
			continue
		case keep:
			continue
		}
		named, err := e.archive.NamedIn(ctx, rec.Data)
		if err != nil {
			return err
		}
		maps.Copy(e.objects, named)
	}
	taken, err := e.taken(ctx, stream, others, subjects)
	if err != nil {
		return err
	}
	gone = append(gone, taken...)
	if left := waits + len(others) - len(taken); left > 0 && !e.opt.DryRun {
		e.busy += left
		e.kept[fmt.Sprintf("%d messages of %s that are for others as well and are not delivered yet", left, stream)] = true
	}
	if e.opt.DryRun {
		e.add(kind, len(gone))
		return nil
	}
	if len(gone) > 0 { // else what their objects are would be lost if it is cut off here
		if err := e.writeJournal(ctx); err != nil {
			return err
		}
	}
	n, err := records.Overwrite(ctx, e.js, stream, gone)
	e.add(kind, n)
	return err
}

// taken are those of seqs that every consumer which gets them is done with.
func (e *eraser) taken(ctx context.Context, stream string, seqs []uint64, subjects map[uint64]string) ([]uint64, error) {
	if len(seqs) == 0 || e.opt.DryRun {
		return seqs, nil
	}
	s, err := e.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	list := s.ListConsumers(ctx)
	var waits []*jetstream.ConsumerInfo
	for info := range list.Info() {
		if info.Config.Durable != "" {
			waits = append(waits, info)
		}
	}
	return slices.DeleteFunc(seqs, func(seq uint64) bool {
		return slices.ContainsFunc(waits, func(info *jetstream.ConsumerInfo) bool {
			return info.AckFloor.Stream < seq && takes(info.Config, subjects[seq])
		})
	}), list.Err()
}

// takes reports whether a consumer gets what is published on subject.
func takes(c jetstream.ConsumerConfig, subject string) bool {
	filters := slices.Clip(c.FilterSubjects)
	if c.FilterSubject != "" {
		filters = append(filters, c.FilterSubject)
	}
	return len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool { return bus.Overlap(f, subject) })
}

func (e *eraser) inbound(ctx context.Context) error {
	return e.sweep(ctx, Inbound, bus.InboundStream, bus.InboundPrefix+">", func(rec records.Record) verdict {
		env, mine := e.wrote(erasure.PlaceOf(rec.Subject), rec.Data)
		switch {
		case e.opt.Agent != "" && env.Agent != e.opt.Agent:
			if mine {
				e.kept["messages that came in, which are not for this agent alone; they are kept for three days"] = true
			}
			return keep
		case mine, e.headers(rec.Header):
			return remove
		case e.r.data(rec.Data, view{words: []*words{&e.r.quotes}}.at(erasure.PlaceOf(rec.Subject))) != nil:
			return later
		}
		return keep
	})
}

func (e *eraser) outbound(ctx context.Context) error {
	return e.sweep(ctx, Outbound, bus.OutboundStream, bus.OutboundPrefix+">", func(rec records.Record) verdict {
		out := bus.Outbound{}
		_ = json.Unmarshal(rec.Data, &out) // what is no reply has nothing of it
		key, place := session.Key(out.Session), erasure.PlaceOf(rec.Subject)
		switch {
		case e.opt.Agent != "" && out.Agent != e.opt.Agent:
			return keep
		case e.r.ownKey(out.Session), e.headers(rec.Header), out.To == e.r.person.From && e.r.person.At(place) && !e.takes[key] && !key.IsGroup():
			return remove
		}
		v := e.view(key).at(place)
		if e.takes[key] {
			v.words = slices.Insert(v.words, 1, e.answered(place, &out))
		}
		if e.r.data(rec.Data, v) != nil {
			return later
		}
		return keep
	})
}

func (e *eraser) routes(ctx context.Context) error {
	for _, prefix := range []string{bus.RoutePrefix + e.agents(), bus.PartPrefix + e.agents() + ".*"} {
		err := e.sweep(ctx, Routes, bus.RoutesStream, prefix, func(rec records.Record) verdict {
			was := struct{ Subject string }{}
			_ = json.Unmarshal([]byte(rec.Header.Get(bus.HandedOnHeader)), &was) // only what was handed on has it
			if _, mine := e.wrote(erasure.PlaceOf(was.Subject), rec.Data); mine {
				return remove
			}
			if _, mine := asked(e.r.person, rec.Data); mine && erasure.PlaceOf(was.Subject) == "" {
				return remove
			}
			return e.about(rec, erasure.PlaceOf(was.Subject))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *eraser) schedules(ctx context.Context) error {
	if err := e.scheduled(ctx); err != nil {
		return err
	}
	for _, subject := range []string{bus.SchedulePrefix + e.agents() + ".>", bus.DuePrefix + e.agents()} {
		err := e.sweep(ctx, Schedules, bus.SchedulesStream, subject, func(rec records.Record) verdict {
			if e.configured[strings.TrimPrefix(rec.Subject, bus.SchedulePrefix)] {
				return keep
			}
			v := e.about(rec, "")
			key, isHeld := strings.CutPrefix(rec.Subject, bus.SchedulePrefix)
			switch {
			case v != later || !isHeld:
				return v
			case e.reminders[key] && !e.hosts: // the next host holds it as the bucket has it
				return remove
			}
			return held
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *eraser) events(ctx context.Context) error {
	return e.sweep(ctx, Events, bus.EventsStream, bus.EventsPrefix+e.agents()+".>", func(rec records.Record) verdict {
		if e.duplicates(rec.Data) {
			return remove
		}
		return atOnce(e.about(rec, ""))
	})
}

// duplicates reports whether an event tells of an id that names a chat with the person, as channels
// make them: <account>:<chat>:<id>. Its session may be that of another account of theirs.
func (e *eraser) duplicates(data []byte) bool {
	body := struct{ ID, Subject string }{}
	_ = json.Unmarshal(data, &body) // what cannot be read has none
	place := erasure.PlaceOf(body.Subject)
	return place != "" && e.r.person.At(place) && strings.HasPrefix(body.ID, place+":"+e.r.person.From+":")
}

func (e *eraser) deadLetters(ctx context.Context) error {
	return e.sweep(ctx, Dead, bus.DeadStream, "agent.dead."+e.agents(), func(rec records.Record) verdict {
		letter := bus.DeadLetter{}
		_ = json.Unmarshal(rec.Data, &letter) // what is none has nothing of it
		if _, mine := e.wrote(erasure.PlaceOf(letter.Subject), letter.Data()); mine && len(letter.Data()) > 0 {
			return remove
		}
		if _, mine := asked(e.r.person, letter.Data()); mine && strings.HasPrefix(letter.Subject, bus.RoutePrefix) {
			return remove
		}
		inner := records.Record{Header: letter.Header, Data: letter.Data()}
		if e.about(inner, erasure.PlaceOf(letter.Subject)) != keep {
			return remove
		}
		return atOnce(e.about(rec, erasure.PlaceOf(letter.Subject)))
	})
}

// atOnce is for what nobody waits for.
func atOnce(v verdict) verdict {
	if v == later {
		return remove
	}
	return v
}

// about says what becomes of a message: one that names the person goes at once, one of others
// that only has their words is for those first.
func (e *eraser) about(rec records.Record, place string) verdict {
	if e.headers(rec.Header) {
		return remove
	}
	head := struct{ Session string }{}
	_ = json.Unmarshal(rec.Data, &head) // not all are about one
	v := e.view(session.Key(head.Session)).at(place)
	switch {
	case e.r.identifies(rec.Data, v):
		return remove
	case e.r.data(rec.Data, v) != nil:
		return later
	}
	return keep
}

func (e *eraser) headers(h nats.Header) bool {
	for name, values := range h {
		if name != jetstream.SubjectHeader && e.r.header(values) {
			return true
		}
	}
	return false
}

// audit writes entries about the person again without them. What operators have done stays
// on record.
func (e *eraser) audit(ctx context.Context) error {
	var gone []uint64
	for rec, err := range e.tail(ctx, bus.AuditStream, bus.AuditPrefix+">") {
		if err != nil {
			return err
		}
		entry := map[string]any{}
		if json.Unmarshal(rec.Data, &entry) != nil || e.opt.Agent != "" && entry["agent"] != e.opt.Agent {
			continue
		}
		now := e.auditEntry(entry, rec.Data)
		if now == nil {
			continue
		}
		gone = append(gone, rec.Seq)
		if e.opt.DryRun {
			continue
		}
		msg := nats.NewMsg(rec.Subject)
		msg.Data = now
		msg.Header.Set("Content-Type", "application/json")
		msg.Header.Set(nats.MsgIdHdr, fmt.Sprint("erased:", rec.Seq))
		if _, err := e.js.PublishMsg(ctx, msg); err != nil {
			return fmt.Errorf("write the audit log: %w", err)
		}
	}
	if e.opt.DryRun {
		e.add(Audit, len(gone))
		return nil
	}
	n, err := records.Overwrite(ctx, e.js, bus.AuditStream, gone)
	e.add(Audit, n)
	return err
}

// auditEntry is an entry without the person; nil when it is not about them.
func (e *eraser) auditEntry(entry map[string]any, data []byte) []byte {
	key, _ := entry["session"].(string)
	own := e.r.ownKey(key)
	for _, field := range []string{"target", "session"} {
		s, _ := entry[field].(string)
		own = own || e.r.ownKey(s) || e.r.account(s) || e.r.ownID(s)
	}
	now := e.r.data(data, e.view(session.Key(key)))
	if now == nil && !own {
		return nil
	}
	left := map[string]any{}
	if now == nil || json.Unmarshal(now, &left) != nil {
		left = entry
	}
	if own {
		for _, field := range []string{"target", "session", "detail"} {
			if _, is := left[field]; is {
				left[field] = Erased
			}
		}
	}
	out, err := encode(left)
	if err != nil {
		return nil
	}
	return out
}
