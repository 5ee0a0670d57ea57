//go:build long

package delivery_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/bus/streams"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A lane is taken over while messages come in, and then the consumer gets another leader,
// which knows of it only what was replicated: all that is not acknowledged is still due.
func TestLaneOfReplicasIsTakenOverUnderLoad(t *testing.T) {
	c := bustest.StartCluster(t)
	js := dialed(t, c.URL(0))
	if err := streams.Provision(t.Context(), js, 3, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	h := serveLane(t, dialed(t, c.URL(1)), nil, "one", 0, web)
	published := 0
	for range 5 {
		loaded, done := load(t, js)
		waittest.For(t, "messages are stored", loaded)
		waittest.For(t, "a message is delivered", h.got)
		for len(h.gained) > 0 {
			<-h.gained
		}
		if err := stream.UnpinConsumer(t.Context(), delivery.LaneName(0), "owner"); err != nil {
			t.Fatal(err)
		}
		waittest.For(t, "the lane is taken over", h.gained)
		published += done()
		waittest.Until(t, "all is held", func() bool { return h.Held() == published && consumer(t, js).NumPending == 0 })
		waittest.Until(t, "all servers have that", func() bool { return copied(t, js) })
		stepDown(t, js)
		if due := consumer(t, js); due.NumAckPending+int(due.NumPending) != published || due.AckFloor.Stream != 0 {
			t.Fatalf("of %d messages, none acknowledged, %d and %d are due under another leader, those behind %d",
				published, due.NumAckPending, due.NumPending, due.AckFloor.Stream)
		}
	}
}

// copied reports whether every server has all of the stream and of the consumer: on a busy machine a
// new leader may count from a copy that is behind.
func copied(t *testing.T, js jetstream.JetStream) bool {
	t.Helper()
	stream, err := js.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		return false
	}
	behind := func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline || p.Lag > 0 }
	return !slices.ContainsFunc(append(stream.CachedInfo().Cluster.Replicas, consumer(t, js).Cluster.Replicas...), behind)
}

// load publishes until done is called, which says how many messages; loaded is closed when
// some are stored.
func load(t *testing.T, js jetstream.JetStream) (loaded <-chan struct{}, done func() int) {
	some, stop, count := make(chan struct{}), make(chan struct{}), make(chan int)
	go func() {
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-stop:
				<-js.PublishAsyncComplete()
				count <- n
				return
			case <-tick.C:
			}
			if _, err := js.PublishAsync(web, []byte(strconv.Itoa(n))); err != nil {
				t.Error(err)
			}
			if n == 100 {
				close(some)
			}
		}
	}()
	return some, func() int { close(stop); return <-count }
}

// stepDown has the consumer of lane 0 led by another server.
func stepDown(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	leader := consumer(t, js).Cluster.Leader
	subject := bus.APIPrefix(js) + "CONSUMER.LEADER.STEPDOWN." + bus.InboundStream + "." + delivery.LaneName(0)
	var asked time.Time
	waittest.Until(t, "another server leads the consumer", func() bool {
		if time.Since(asked) > 5*time.Second { // the same may be elected again
			asked = time.Now()
			if _, err := js.Conn().RequestWithContext(t.Context(), subject, nil); err != nil {
				t.Fatal(err)
			}
		}
		c, err := js.Consumer(t.Context(), bus.InboundStream, delivery.LaneName(0))
		return err == nil && c.CachedInfo().Cluster.Leader != "" && c.CachedInfo().Cluster.Leader != leader
	})
}

func dialed(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
