package why

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// lookAtLanes notes how far the lanes have come. It is the first look: what a lane was done
// with by then, sessions have when they are looked into.
func (s *search) lookAtLanes(ctx context.Context) error {
	for _, name := range []string{bus.InboundStream, bus.RoutesStream} {
		stream, err := s.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		list := stream.ListConsumers(ctx)
		for info := range list.Info() {
			if isLane(info.Config.Durable) {
				s.lanes[name] = append(s.lanes[name], info)
			}
		}
		if err := list.Err(); err != nil {
			return err
		}
	}
	return nil
}

func isLane(consumer string) bool {
	return strings.HasPrefix(consumer, "lane-") || strings.HasPrefix(consumer, "part-")
}

// passed reports whether all lanes that bring a message are done with it; one that none
// brings waits for an agent.
func (s *search) passed(stream string, rec records.Record) bool {
	brought := false
	for _, lane := range s.lanes[stream] {
		if !takes(lane.Config, rec.Subject) {
			continue
		}
		if lane.AckFloor.Stream < rec.Seq {
			return false
		}
		brought = true
	}
	return brought
}

// bound reports whether a lane brings what comes on a subject of a channel.
func (s *search) bound(subject string) bool {
	return slices.ContainsFunc(s.lanes[bus.InboundStream], func(lane *jetstream.ConsumerInfo) bool { return takes(lane.Config, subject) })
}

// notTaken finds out whether a message that nothing knows of waits at all, or whether the
// agents are done with it.
func (s *search) notTaken(ctx context.Context, inbound records.Record, told *bus.Outbound) error {
	if s.mentioned {
		return nil
	}
	if !s.bound(inbound.Subject) {
		s.add(Step{
			At: inbound.Time, What: Unbound, Subject: inbound.Subject,
			Detail: "no agent of a host takes " + inbound.Subject + "; bind one to it in channels, or correct the subject",
		})
		return nil
	}
	if !s.passed(bus.InboundStream, inbound) {
		return nil
	}
	if waits, err := s.waitsInPartition(ctx, inbound); waits || err != nil {
		return err
	}
	step := Step{
		At: inbound.Time, What: NotTaken, Stream: bus.InboundStream, Seq: inbound.Seq, Subject: inbound.Subject, ID: s.id,
		Detail: "nothing was said to it: perhaps its sender may not write to the agent, its agent was not bound yet, or its session is deleted",
	}
	if told != nil {
		step.Agent = told.Agent
		step.Detail = "its sender may not write to the agent; told in " + told.ID
	}
	s.way.State = Dead
	s.add(step)
	return nil
}

// waitsInPartition reports whether a message was handed on to a partition of its agent that
// is not done with it.
func (s *search) waitsInPartition(ctx context.Context, inbound records.Record) (bool, error) {
	for rec, err := range s.reader.Since(ctx, bus.RoutesStream, bus.PartPrefix+"*.*", inbound.Time) {
		if err != nil {
			return false, absent(err)
		}
		was := struct {
			Stream string
			Seq    uint64
		}{}
		_ = json.Unmarshal([]byte(rec.Header.Get(bus.HandedOnHeader)), &was) // only what was handed on has it
		if was.Stream == bus.InboundStream && was.Seq == inbound.Seq && !s.passed(bus.RoutesStream, rec) {
			return true, nil
		}
	}
	return false, nil
}

// silence is how long a stranger who was told something is told nothing more.
const silence = time.Hour

// turnedAway reports whether a reply told the sender of a message that they may not write.
func turnedAway(out *bus.Outbound, inbound records.Record) bool {
	from := struct {
		From string `json:"from"`
	}{}
	_ = bus.ReadFields(inbound.Data, &from) // what is no object has none
	return out.To == from.From && from.From != "" && strings.HasPrefix(out.Run, fmt.Sprintf("%s:%s:", out.Agent, bus.InboundStream)) && strings.HasSuffix(out.Run, ":stranger")
}
