package erase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/heartbeat"
	"agenthost/internal/erasure"
	"agenthost/internal/pause"
	"agenthost/session"
)

// What others keep, and what has only some words of the person, is written again without them.

// scheduled deletes reminders of the person, and takes their words out of those of others.
func (e *eraser) scheduled(ctx context.Context) error {
	e.configured, e.reminders = map[string]bool{}, map[string]bool{}
	var quoting []string
	err := e.drop(ctx, Schedules, bus.SchedulesBucket, func(key string, value []byte) bool {
		entry := heartbeat.Entry{}
		if !e.ofAgent(key) || json.Unmarshal(value, &entry) != nil {
			return false
		}
		v := e.viewOf(entry)
		theirs := e.r.identifies(value, v)
		quotes := e.r.data(value, v) != nil
		if entry.Source == heartbeat.FromConfig {
			if quotes {
				e.configured[key] = true
				e.kept["the schedule "+entry.Name+" of "+entry.Agent+", which stands in the configuration: take it out there"] = true
			}
			return false
		}
		e.reminders[key] = !theirs
		if quotes && !theirs {
			quoting = append(quoting, key)
		}
		return theirs
	})
	if err != nil || e.opt.DryRun {
		e.add(Schedules, len(quoting))
		return err
	}
	for _, key := range quoting {
		if err := e.reword(ctx, Schedules, bus.SchedulesBucket, key, e.reminder); err != nil {
			return err
		}
	}
	return nil
}

// reminder is a reminder without the person's words; nil: it has none, or no host reads it.
func (e *eraser) reminder(data []byte) []byte {
	entry := heartbeat.Entry{}
	if json.Unmarshal(data, &entry) != nil {
		return nil
	}
	return e.r.data(data, e.viewOf(entry))
}

func (e *eraser) viewOf(entry heartbeat.Entry) view {
	if entry.Origin == nil {
		return view{words: []*words{&e.r.quotes}}
	}
	return e.view(session.Key(entry.Origin.Session)).at(erasure.PlaceOf(entry.Origin.Subject))
}

// pauses takes the person's words out of the reasons of pauses, which hold on.
func (e *eraser) pauses(ctx context.Context) error {
	var quoting []string
	err := e.entries(ctx, bus.LanesBucket, pause.Keys, func(key string, value []byte) error {
		if e.unquoted(value) != nil {
			quoting = append(quoting, key)
		}
		return nil
	})
	if err != nil || e.opt.DryRun {
		e.add(Pauses, len(quoting))
		return err
	}
	for _, key := range quoting {
		if err := e.reword(ctx, Pauses, bus.LanesBucket, key, e.unquoted); err != nil {
			return err
		}
	}
	return nil
}

// unquoted is a pause without the person's words; nil: it has none.
func (e *eraser) unquoted(data []byte) []byte {
	p := pause.Pause{}
	if json.Unmarshal(data, &p) != nil || e.opt.Agent != "" && p.Agent != e.opt.Agent {
		return nil
	}
	return e.r.data(data, e.view(""))
}

// reword writes an entry without the person, where it has something of them. One that
// changes meanwhile is for the next pass.
func (e *eraser) reword(ctx context.Context, kind, bucket, key string, without func([]byte) []byte) error {
	rec, err := e.reader.Entry(ctx, bucket, key)
	if errors.Is(err, records.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = e.put(ctx, kind, bucket, key, without(rec.Data), rec.Seq)
	}
	if err != nil {
		return fmt.Errorf("take the person out of %s of bucket %s: %w", key, bucket, err)
	}
	return nil
}

func (e *eraser) put(ctx context.Context, kind, bucket, key string, now []byte, revision uint64) error {
	if now == nil {
		return nil
	}
	kv, err := e.js.KeyValue(ctx, bucket)
	if err != nil {
		return err
	}
	_, err = kv.Update(ctx, key, now, revision)
	if records.Overtaken(err) {
		e.busy++
		return nil
	}
	if err == nil {
		e.add(kind, 1)
	}
	return err
}
