package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
)

// A State is how one of the host's streams is, or the one behind a bucket.
type State struct {
	Name     string
	Missing  bool   // the next host makes it
	Foreign  string // settings that another program chose, in words
	Losing   string // those of them by which messages are lost
	Lacks    string // settings that the next host sets again, in words
	Fault    error  // why hosts cannot use it as it is
	Replicas int    // that are up to date, of those it has
	Has      int
	Copies   int // servers that are to keep one: fewer than it has where one was removed, 0 outside a cluster
	Bytes    uint64
}

// Survey looks at the streams and buckets as Provision would find them, and changes
// nothing. skew is by how much the server's clock is ahead of this machine's;
// known is false while there is no stream to tell the server's time.
func Survey(ctx context.Context, js jetstream.JetStream, replicas, lanes int) (states []State, skew time.Duration, known bool, err error) {
	for _, want := range append(streamConfigs(max(replicas, 1)), bucketStreams(max(replicas, 1))...) {
		asked := time.Now()
		stream, err := js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			states = append(states, State{Name: want.Name, Missing: true})
			continue
		}
		if err != nil {
			return nil, 0, false, fmt.Errorf("look at stream %s: %w", want.Name, err)
		}
		info := stream.CachedInfo()
		if !info.TimeStamp.IsZero() { // it is of some time between asking and hearing
			middle := asked.Add(time.Since(asked) / 2)
			skew, known = info.TimeStamp.Sub(middle), true
		}
		states = append(states, stateOf(info, want, delivery.LaneCount(lanes)))
	}
	return states, skew, known, nil
}

func stateOf(info *jetstream.StreamInfo, want jetstream.StreamConfig, lanes int) State {
	s := State{
		Name: want.Name, Fault: cmp.Or(checkLanes(info.Config, lanes), fault(info.Config, want)), Bytes: info.State.Bytes,
		Has: info.Config.Replicas, Replicas: info.Config.Replicas,
	}
	s.Foreign, s.Lacks = inWords(foreignSettings(info.Config, want)), inWords(lacking(info.Config, want))
	s.Losing = inWords(losing(info.Config, want))
	if c := info.Cluster; c != nil {
		current := 1 // its leader
		for _, peer := range c.Replicas {
			if peer.Current && !peer.Offline {
				current++
			}
		}
		s.Copies = 1 + len(c.Replicas)
		s.Replicas = min(current, s.Has)
	}
	s.Fault = errors.Join(s.Fault, checkLed(info))
	return s
}

// checkLed is the fault of a stream without a leader: it neither stores nor answers anything.
func checkLed(info *jetstream.StreamInfo) error {
	if info.Cluster == nil || info.Cluster.Leader != "" {
		return nil
	}
	return fmt.Errorf("stream %s has no leader: too few of its servers are up, or have room in their store (max_file_store); "+
		"start those that are down, and again those that say that their limits are exceeded, with more room", info.Config.Name)
}
