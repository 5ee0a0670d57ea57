package lanes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agenthost/agents/internal/finishing"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/records"
)

const (
	// finishingPrefix begins the keys in bus.LanesBucket that say what a host finishes
	// of a lane that it has handed over.
	finishingPrefix = "finishing."
	// restWithin is how long a lane is kept for the runs that end soon.
	restWithin = 250 * time.Millisecond
	// quietWithin is how long a lane may take to hand out what has come.
	quietWithin = 2 * time.Second
	// lookEvery is how often a host looks what it has finished.
	lookEvery = 50 * time.Millisecond
)

func finishingKey(lane int) string { return finishingPrefix + strconv.Itoa(lane) }

// handOver gives a lane to the host that asks for it: nothing more is begun, what is in
// progress ends here, all else comes to the next owner, in order. It returns when the
// lane is free; what is in progress then, the next owner leaves alone.
func (s *Set) handOver(ctx context.Context, lane int) {
	feeders, agents := s.feedersOf(lane), s.agentsOf(lane)
	for _, f := range feeders {
		f.lane.Ask(false)
	}
	waitUntil(ctx, quietWithin, func() bool {
		for _, f := range feeders {
			if f.lane.Asks() {
				return false
			}
		}
		return true
	})
	for _, f := range feeders {
		f.giveBack()
	}
	for _, a := range agents {
		a.Yield()
	}
	waitUntil(ctx, restWithin, func() bool { return len(unfinished(agents)) == 0 })
	note := finishing.Handover{Host: s.Host, Run: s.spread.id, Until: time.Now().Add(finishing.Within).UTC().Round(time.Millisecond), Sessions: unfinished(agents)}
	if err := s.noteFinishing(ctx, lane, note); err != nil {
		s.Log.Warn().Err(err).Str("lane", s.laneName(lane)).Msg("record runs in progress: failed; the next owner may restart them")
	}
	var releases sync.WaitGroup
	for _, f := range feeders {
		releases.Go(func() {
			if err := f.lane.HandOver(ctx); err != nil {
				f.log.Warn().Err(err).Msg("hand lane over: failed; another host takes it when the pin expires")
			}
		})
	}
	releases.Wait()
	if len(note.Sessions) > 0 { // it may be stored, whatever the error
		s.ending.Go(func() { s.followFinishing(ctx, lane, agents, note) })
	}
}

func (s *Set) feedersOf(lane int) (list []*feeder) {
	for id, f := range *s.lanes.Load() {
		if id.n == lane {
			list = append(list, f)
		}
	}
	return list
}

// laneName is what NATS and people call a lane.
func (s *Set) laneName(lane int) string {
	for _, f := range s.feedersOf(lane) {
		if p := f.partition.Load(); p != nil {
			return PartitionLane((*p).ID(), f.number)
		}
	}
	return delivery.LaneName(lane)
}

func (s *Set) agentsOf(lane int) (list []Agent) {
	if f := (*s.lanes.Load())[laneID{bus.RoutesStream, lane}]; f != nil {
		if p := f.partition.Load(); p != nil {
			return []Agent{*p}
		}
	}
	for _, a := range s.Agents() {
		if Of(a.ID(), s.Count) == lane {
			list = append(list, a)
		}
	}
	return list
}

// asks reports whether something in a lane waits for an answer that has to come by it.
func (s *Set) asks(lane int) bool { return slices.ContainsFunc(s.agentsOf(lane), Agent.Asks) }

// unfinished are the sessions of agents in which there is something to do.
func unfinished(agents []Agent) map[string][]string {
	all := map[string][]string{}
	for _, a := range agents {
		if keys := a.Unfinished(); len(keys) > 0 {
			all[a.ID()] = keys
		}
	}
	return all
}

// noteFinishing says what this host goes on with.
func (s *Set) noteFinishing(ctx context.Context, lane int, note finishing.Handover) error {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	kv, err := s.JS.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return err
	}
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, finishingKey(lane), data)
	return err
}

// changeFinishing says what is left of that. done reports that another host has handed
// the lane over since, so that no host waits for this one any more.
func (s *Set) changeFinishing(ctx context.Context, lane int, note finishing.Handover) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	entry, err := s.Reader.Entry(ctx, bus.LanesBucket, finishingKey(lane))
	if err != nil {
		return errors.Is(err, records.ErrNotFound), err
	}
	stored := finishing.Handover{}
	if err := json.Unmarshal(entry.Data, &stored); err != nil || stored.Host != note.Host || stored.Run != note.Run || !stored.Until.Equal(note.Until) {
		return true, nil
	}
	kv, err := s.JS.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return false, err
	}
	data, err := json.Marshal(note)
	if err != nil {
		return false, err
	}
	_, err = kv.Update(ctx, finishingKey(lane), data, entry.Seq)
	return false, err // a refused one is tried again
}

// followFinishing tells the next owner of a lane as sessions end here. When ctx ends it
// does so for the last time: this host is gone then, which the others hear.
func (s *Set) followFinishing(ctx context.Context, lane int, agents []Agent, note finishing.Handover) {
	for count := sizeOf(note.Sessions); count > 0 && ctx.Err() == nil && time.Now().Before(note.Until); {
		bus.Pause(ctx, lookEvery)
		note.Sessions = both(note.Sessions, unfinished(agents))
		if sizeOf(note.Sessions) == count {
			continue
		}
		done, err := s.changeFinishing(context.WithoutCancel(ctx), lane, note)
		switch {
		case done:
			return
		case err != nil:
			s.Few.Warn().Err(err).Str("lane", s.laneName(lane)).Msg("note what has ended: failed; trying again")
		default:
			count = sizeOf(note.Sessions)
		}
	}
}

func sizeOf(sessions map[string][]string) (n int) {
	for _, keys := range sessions {
		n += len(keys)
	}
	return n
}

// both are the sessions that are in a and in b.
func both(a, b map[string][]string) map[string][]string {
	out := map[string][]string{}
	for agent, keys := range a {
		still := map[string]bool{}
		for _, key := range b[agent] {
			still[key] = true
		}
		for _, key := range keys {
			if still[key] {
				out[agent] = append(out[agent], key)
			}
		}
	}
	return out
}

// waitUntil waits for a condition, within a time and until ctx ends.
func waitUntil(ctx context.Context, within time.Duration, holds func() bool) {
	for end := time.Now().Add(within); !holds() && ctx.Err() == nil && time.Now().Before(end); {
		time.Sleep(lookEvery / 5)
	}
}

// came makes ready for a lane that this host serves from now on: former is the host
// that has served it before.
func (s *Set) came(ctx context.Context, id laneID, former string) {
	another := former != "" && former != s.Host
	if another {
		if !s.servesBeside(id) {
			s.spread.gained(id.n)
		}
		if err := s.readFinishing(ctx, id.n); err != nil {
			s.Log.Warn().Err(err).Str("lane", s.laneName(id.n)).Msg("read the runs that the former owner finishes: failed; they may be restarted")
		}
	}
	for _, a := range s.agentsOf(id.n) {
		a.Resume(another)
		a.Agree()
	}
}

// servesBeside reports whether another stream of a lane is served here: then the lane
// was here before.
func (s *Set) servesBeside(id laneID) bool {
	for other, f := range *s.lanes.Load() {
		if other != id && other.n == id.n && f.lane.Serving() {
			return true
		}
	}
	return false
}

func (s *Set) readFinishing(ctx context.Context, lane int) error {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	entry, err := s.Reader.Entry(ctx, bus.LanesBucket, finishingKey(lane))
	if errors.Is(err, records.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", finishingKey(lane), err)
	}
	s.takeFinishing(finishingKey(lane), entry.Seq, entry.Data)
	return nil
}

// takeFinishing takes in what another host goes on with.
func (s *Set) takeFinishing(key string, revision uint64, data []byte) {
	lane, err := strconv.Atoi(strings.TrimPrefix(key, finishingPrefix))
	h := finishing.Handover{}
	if err != nil || json.Unmarshal(data, &h) != nil {
		return
	}
	if h.Host == s.Host {
		h.Sessions = nil
	}
	s.Finishing.Set(lane, revision, h)
}
