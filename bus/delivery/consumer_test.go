package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// A consumer deleted under a running lane is made again. What was not
// acknowledged comes; what the lane holds still, it does not get twice.
func TestLaneMakesItsConsumerAgain(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2", "3")
		held := h.want("1", "2", "3")
		held[1].Leave()
		if err := js.DeleteConsumer(t.Context(), bus.InboundStream, delivery.LaneName(0)); err != nil {
			t.Fatal(err)
		}
		h.want("2?")[0].Done()
		bustest.Publish(t, js, web, "4")
		h.want("4")[0].Done()
		held[0].Done()
		held[2].Done()
		h.quiet(aWhile)
		if info := consumer(t, js); info.NumAckPending != 0 || info.AckFloor.Stream != 4 {
			t.Errorf("unacknowledged %d, floor %d, want 0, 4", info.NumAckPending, info.AckFloor.Stream)
		}
	})
}

// A consumer that was deleted while its host was away is made again too: there
// is no message to tell the host, only the silence.
func TestLaneNoticesThatItsConsumerIsGone(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		h.want("1")[0].Done()
		h.flush()
		h.door.shut.Store(true)
		if err := h.nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := js.DeleteConsumer(t.Context(), bus.InboundStream, delivery.LaneName(0)); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, web, "2")
		h.door.shut.Store(false)
		h.want("1?", "2")
	})
}

// Past 512 agents a lane takes all that is due, but no schedule.
func TestLaneOfManyAgents(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		var due []string
		for _, s := range numbered(513) {
			due = append(due, bus.DuePrefix+strings.TrimPrefix(s, bus.InboundPrefix))
		}
		got := make(chan string, 10)
		l := delivery.NewLane(js, delivery.LaneConfig{Stream: bus.SchedulesStream, Name: delivery.LaneName(0), Filters: due, Host: "one"}, bustest.Log(t),
			func(context.Context, string) {}, func(d *delivery.Delivery) { got <- d.Subject; d.Done() })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, ctx) }()
		bustest.Publish(t, js, "agent.schedule.ana.x", "not for us")
		bustest.Publish(t, js, "agent.due.c001", "x")
		if subject := <-got; subject != "agent.due.c001" {
			t.Errorf("got %s, want agent.due.c001", subject)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestLaneGoesOnWithoutItsStream(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		if err := js.DeleteStream(t.Context(), bus.InboundStream); err != nil {
			t.Fatal(err)
		}
		h.quiet(aWhile)
		bustest.Provision(t, js)
		bustest.Publish(t, js, web, "1")
		h.want("1")
	})
}

func TestLaneGoesOnAfterACut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		held := h.want("1")
		if err := h.nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, web, "2")
		if second := h.take(1)[0]; second.Seq != 2 { // it may have been sent into the cut
			t.Errorf("got message %d, want 2", second.Seq)
		} else {
			second.Done()
		}
		held[0].Done()
		h.quiet(aWhile)
		if n := consumer(t, js).NumAckPending; n != 0 {
			t.Errorf("unacknowledged: got %d, want 0", n)
		}
	})
}

func TestLaneFiltersOnlyWiden(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		filters := func() []string {
			c := consumer(t, js).Config
			if c.FilterSubject != "" {
				return []string{c.FilterSubject}
			}
			return c.FilterSubjects
		}
		want := func(list ...string) {
			t.Helper()
			if diff := cmp.Diff(list, filters()); diff != "" {
				t.Error(diff)
			}
		}
		one := join(t, ns, "one", web)
		want(web)
		bustest.Publish(t, js, web, "0")
		one.want("0")
		two := join(t, ns, "two", "plugin.inbound.irc", "plugin.inbound.telegram.*")
		want("plugin.inbound.irc", "plugin.inbound.telegram.*", web)
		bustest.Publish(t, js, "plugin.inbound.irc", "1")
		one.want("1") // it serves what it does not know itself
		two.stop()
		one.stop()
		three := join(t, ns, "three", web, "plugin.inbound.telegram.sales")
		want("plugin.inbound.irc", "plugin.inbound.telegram.*", web)
		three.stop()
		join(t, ns, "four", numbered(513)...).stop()
		want(all)
		join(t, ns, "five", web).stop()
		want(all)
	})
}

// A consumer that somebody made to take everything is not narrowed.
func TestLaneKeepsAConsumerOfEverything(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		join(t, ns, "one", web).stop()
		cfg := consumer(t, js).Config
		cfg.FilterSubject, cfg.FilterSubjects = "", nil
		if _, err := js.UpdateConsumer(t.Context(), bus.InboundStream, cfg); err != nil {
			t.Fatal(err)
		}
		join(t, ns, "two", web)
		if c := consumer(t, js).Config; c.FilterSubject != "" || len(c.FilterSubjects) > 0 {
			t.Errorf("filters: got %q %q, want none", c.FilterSubject, c.FilterSubjects)
		}
	})
}

// Of hosts that start at the same moment, one serves.
func TestLaneIsMadeByManyHosts(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		started := make(chan *host, 5)
		for i := range cap(started) {
			go func() { started <- join(t, ns, fmt.Sprint("host", i)) }()
		}
		var hosts []*host
		for range cap(started) {
			hosts = append(hosts, <-started)
		}
		bustest.Publish(t, js, web, "1")
		time.Sleep(aWhile)
		hosts = slices.DeleteFunc(hosts, func(h *host) bool { return !h.Serving() && len(h.got) == 0 })
		if len(hosts) != 1 {
			t.Fatalf("serving: got %d hosts, want 1", len(hosts))
		}
		hosts[0].want("1")
	})
}

// A note that cannot be read is as good as none.
func TestLaneIgnoresABrokenNote(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		kv, err := js.KeyValue(t.Context(), bus.LanesBucket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kv.PutString(t.Context(), "AGENT_INBOUND.lane-00", "{"); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, web, "1")
		join(t, ns, "one").want("1")
		if e, err := kv.Get(t.Context(), "AGENT_INBOUND.lane-00"); err != nil || !strings.Contains(string(e.Value()), `"host":"one"`) {
			t.Errorf("note: got %s, %v, want the host's", e.Value(), err)
		}
	})
}

// Without the bucket of notes the lane waits for it and says so.
func TestLaneNeedsItsNotes(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		if err := js.DeleteKeyValue(t.Context(), bus.LanesBucket); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, web, "1", "2")
		h.quiet(aWhile)
		bustest.Provision(t, js)
		h.want("1?", "2?")
		time.Sleep(aWhile)
	})
}

// A lane whose owner cannot be recorded waits: an owner after one that is not known would
// doubt nothing that it may have done.
func TestLaneNeedsItsRecord(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		full := func(bytes int64) {
			t.Helper()
			stream, err := js.Stream(t.Context(), "KV_"+bus.LanesBucket)
			if err != nil {
				t.Fatal(err)
			}
			cfg := stream.CachedInfo().Config
			cfg.MaxBytes, cfg.Discard = bytes, jetstream.DiscardNew
			if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}
		full(1)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2")
		h.quiet(aWhile)
		full(-1)
		h.want("1?", "2?")
		time.Sleep(aWhile)
	})
}
