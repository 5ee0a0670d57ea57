package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// schedulerHeader names the schedule that has fired a message.
const schedulerHeader = "Nats-Scheduler"

// carrySchedules copies the schedules of AGENT_ROUTES to AGENT_SCHEDULES, for what is
// due there, and then deletes them where they were. Between the two one may fire at
// both places: it has one id.
func (u *upgrade) carrySchedules(ctx context.Context, routes jetstream.Stream) error {
	var errs []error
	err := Heads(ctx, u.js, RoutesStream, SchedulePrefix+">", false, func(rec Record) {
		errs = append(errs, u.carrySchedule(ctx, rec))
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	u.done("copy schedules")
	return routes.Purge(ctx, jetstream.WithPurgeSubject(SchedulePrefix+">"))
}

func (u *upgrade) carrySchedule(ctx context.Context, rec Record) error {
	target := rec.Header.Get(jetstream.ScheduleTargetHeader)
	agent, ok := ownSchedule(rec.Subject, target)
	if !ok {
		u.log.Warn().Str("subject", rec.Subject).Str("target", target).Msg("upgrade stream: this schedule is for another agent than its subject says; left out")
		return nil
	}
	msg := &nats.Msg{Subject: rec.Subject, Header: maps.Clone(rec.Header), Data: rec.Data}
	msg.Header.Set(jetstream.ScheduleTargetHeader, DuePrefix+agent)
	msg.Header.Del(nats.MsgIdHdr)
	msg.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
	if _, err := u.js.PublishMsg(ctx, msg); err != nil && !Refused(err) { // refused: copied before a crash
		return fmt.Errorf("schedule %s: %w", rec.Subject, err)
	}
	u.done("copy schedule " + rec.Subject)
	return nil
}

// carryFirings moves what has fired and may not have been handled from AGENT_ROUTES to
// where it is due now: deadlines and reminders count from there only.
func (u *upgrade) carryFirings(ctx context.Context, routes jetstream.Stream, from uint64) error {
	for rec, err := range NewReader(u.js).Tail(ctx, RoutesStream, RoutePrefix+"*", from) {
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

func (u *upgrade) carryFiring(ctx context.Context, routes jetstream.Stream, agent string, rec Record) error {
	msg := &nats.Msg{Subject: DuePrefix + agent, Header: maps.Clone(rec.Header), Data: rec.Data}
	maps.DeleteFunc(msg.Header, func(key string, _ []string) bool { return strings.HasPrefix(key, "Nats-") }) // the server's
	msg.Header.Set(nats.MsgIdHdr, RoutesStream+":"+strconv.FormatUint(rec.Seq, 10))
	if _, err := u.js.PublishMsg(ctx, msg); err != nil {
		return err
	}
	u.done("copy message " + strconv.FormatUint(rec.Seq, 10))
	if err := routes.DeleteMsg(ctx, rec.Seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return err
	}
	return nil
}
