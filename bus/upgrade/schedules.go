package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// schedulerHeader names the schedule that has fired a message.
const schedulerHeader = "Nats-Scheduler"

// moveSchedules gives AGENT_SCHEDULES what is scheduled and what has fired, and then
// closes AGENT_ROUTES.
func (u *Upgrade) moveSchedules(ctx context.Context, cfg jetstream.StreamConfig) error {
	if cfg.Retention != jetstream.LimitsPolicy {
		return fmt.Errorf("its retention is %s, which cannot be copied: %w", cfg.Retention, bus.ErrUnusable)
	}
	old, err := delivery.Stopped(ctx, u.JS, bus.RoutesStream)
	if err != nil {
		return err
	}
	if cfg, err = u.narrow(ctx, cfg); err != nil {
		return err
	}
	u.done("close to schedules")
	if err := u.MakeSchedules(ctx); err != nil {
		return err
	}
	u.done("make " + bus.SchedulesStream)
	if err := u.carrySchedules(ctx, old.Stream); err != nil {
		return err
	}
	if err := u.carryFirings(ctx, old.Stream, old.From); err != nil {
		return err
	}
	return u.closeStream(ctx, cfg)
}

// narrow has AGENT_ROUTES take no schedules any more, which AGENT_SCHEDULES is to take.
func (u *Upgrade) narrow(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	all := len(cfg.Subjects)
	cfg.Subjects = slices.DeleteFunc(slices.Clone(cfg.Subjects), func(s string) bool { return bus.Matches(bus.SchedulePrefix+">", s) })
	if len(cfg.Subjects) == all {
		return cfg, nil
	}
	_, err := u.JS.UpdateStream(ctx, cfg)
	return cfg, err
}

// closeStream has AGENT_ROUTES take nothing but a marker, which keeps its last
// sequence through the copies also when no message is left.
func (u *Upgrade) closeStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	original, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	closed := cfg
	closed.Subjects, closed.RePublish, closed.SubjectTransform = []string{closedSubject}, nil, nil
	closed.Metadata = maps.Clone(cfg.Metadata)
	if closed.Metadata == nil {
		closed.Metadata = map[string]string{}
	}
	closed.Metadata[originalKey] = string(original)
	_, err = u.JS.UpdateStream(ctx, closed)
	return err
}

// carrySchedules copies the schedules of AGENT_ROUTES to AGENT_SCHEDULES, for what is
// due there, and then deletes them where they were. Between the two one may fire at
// both places: it has one id.
func (u *Upgrade) carrySchedules(ctx context.Context, routes jetstream.Stream) error {
	var errs []error
	err := records.Heads(ctx, u.JS, bus.RoutesStream, bus.SchedulePrefix+">", false, func(rec records.Record) {
		errs = append(errs, u.carrySchedule(ctx, rec))
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	u.done("copy schedules")
	return routes.Purge(ctx, jetstream.WithPurgeSubject(bus.SchedulePrefix+">"))
}

func (u *Upgrade) carrySchedule(ctx context.Context, rec records.Record) error {
	target := rec.Header.Get(jetstream.ScheduleTargetHeader)
	agent, ok := ownSchedule(rec.Subject, target)
	if !ok {
		u.Log.Warn().Str("subject", rec.Subject).Str("target", target).Msg("upgrade stream: schedule for another agent than its subject names; left out")
		return nil
	}
	msg := &nats.Msg{Subject: rec.Subject, Header: maps.Clone(rec.Header), Data: rec.Data}
	msg.Header.Set(jetstream.ScheduleTargetHeader, bus.DuePrefix+agent)
	msg.Header.Del(nats.MsgIdHdr)
	msg.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
	if _, err := u.JS.PublishMsg(ctx, msg); err != nil && !bus.Refused(err) { // refused: copied before a crash
		return fmt.Errorf("schedule %s: %w", rec.Subject, err)
	}
	u.done("copy schedule " + rec.Subject)
	return nil
}

// carryFirings moves what has fired and may not have been handled from AGENT_ROUTES to
// where it is due now: deadlines and reminders count from there only.
func (u *Upgrade) carryFirings(ctx context.Context, routes jetstream.Stream, from uint64) error {
	for rec, err := range records.NewReader(u.JS).Tail(ctx, bus.RoutesStream, bus.RoutePrefix+"*", from) {
		if err != nil {
			return fmt.Errorf("read what has fired: %w", err)
		}
		agent, ok := ownSchedule(rec.Header.Get(schedulerHeader), rec.Subject)
		if !ok {
			continue
		}
		if err := u.carryFiring(ctx, routes, agent, rec); err != nil {
			return fmt.Errorf("move message %d: %w", rec.Seq, err)
		}
	}
	return nil
}

func (u *Upgrade) carryFiring(ctx context.Context, routes jetstream.Stream, agent string, rec records.Record) error {
	msg := &nats.Msg{Subject: bus.DuePrefix + agent, Header: maps.Clone(rec.Header), Data: rec.Data}
	maps.DeleteFunc(msg.Header, func(key string, _ []string) bool { return strings.HasPrefix(key, "Nats-") }) // the server's
	msg.Header.Set(nats.MsgIdHdr, bus.RoutesStream+":"+strconv.FormatUint(rec.Seq, 10))
	if _, err := u.JS.PublishMsg(ctx, msg); err != nil {
		return err
	}
	u.done("copy message " + strconv.FormatUint(rec.Seq, 10))
	if err := routes.DeleteMsg(ctx, rec.Seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return err
	}
	return nil
}

// ownSchedule reports whether a schedule is for the agent that its subject names, as
// all are that hosts make.
func ownSchedule(subject, target string) (agent string, ok bool) {
	agent, _, _ = strings.Cut(strings.TrimPrefix(subject, bus.SchedulePrefix), ".")
	return agent, strings.HasPrefix(subject, bus.SchedulePrefix) && target == bus.RoutePrefix+agent
}
