package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/config"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
)

// A changedFleet is a NATS server, and hosts that start on it with one configuration or another.
type changedFleet struct {
	t   *testing.T
	url string
	bus *bus.Bus
}

func newChangedFleet(t *testing.T) *changedFleet {
	t.Helper()
	url, _ := bustest.Server(t)
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(bustest.Context(t)); err != nil {
		t.Fatal(err)
	}
	return &changedFleet{t: t, url: url, bus: b}
}

// config is that of agents that are bound to a channel.
func (f *changedFleet) config(binding string, ids ...string) *config.Config {
	f.t.Helper()
	cfg := demo(f.t)
	cfg.NATS.URL, cfg.HTTP.Listen = f.url, ""
	agent := cfg.Agents[0]
	cfg.Agents = nil
	channel, instance, _ := strings.Cut(binding, ".")
	for _, id := range ids {
		agent.ID, agent.Channels = id, []agents.Binding{{Channel: channel, Instance: instance}}
		cfg.Agents = append(cfg.Agents, agent)
	}
	return cfg
}

func (f *changedFleet) start(name string, cfg *config.Config) (*host.Host, func()) {
	f.t.Helper()
	return hosttest.Start(f.t, host.Options{Config: cfg, Name: name, Log: hosttest.Log(f.t)})
}

// write stores what users write on a channel.
func (f *changedFleet) write(channel string, ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		bustest.Publish(f.t, f.bus.JS, bus.InboundPrefix+channel, fmt.Sprintf(`{"id":%q,"from":"user-%s","text":"hi"}`, id, id))
	}
}

// done waits until the lanes of agents are done with all that is stored.
func (f *changedFleet) done(agents ...string) {
	f.t.Helper()
	stream, err := f.bus.JS.Stream(f.t.Context(), bus.InboundStream)
	if err != nil {
		f.t.Fatal(err)
	}
	last := stream.CachedInfo().State.LastSeq
	for _, agent := range agents {
		waittest.Until(f.t, "all is acknowledged in the lane of "+agent, func() bool {
			lane, err := f.bus.JS.Consumer(f.t.Context(), bus.InboundStream, delivery.LaneName(laneOf(agent, 4)))
			return err == nil && lane.CachedInfo().AckFloor.Stream >= last
		})
	}
}

// answers are who has answered what, sorted.
func (f *changedFleet) answers(h *host.Host) (list []string) {
	f.t.Helper()
	for _, out := range published(f.t, h) {
		list = append(list, fmt.Sprintf("%s %s: %s", out.InReplyTo, out.Kind, out.Agent))
	}
	slices.Sort(list)
	return list
}

// probe begins the ids of messages that are not looked at.
const probe = "probe"

// bound waits until agents answer what is written on a channel.
func (f *changedFleet) bound(h *host.Host, channel string, agents ...string) {
	f.t.Helper()
	n := 0
	waittest.Until(f.t, "the agents answer", func() bool {
		n++
		id := fmt.Sprint(probe, n)
		f.write(channel, id)
		f.done(agents...)
		answers := f.answers(h)
		return !slices.ContainsFunc(agents, func(agent string) bool { return !slices.Contains(answers, id+" reply: "+agent) })
	})
}

func (f *changedFleet) want(h *host.Host, want ...string) {
	f.t.Helper()
	slices.Sort(want)
	got := slices.DeleteFunc(f.answers(h), func(a string) bool { return strings.HasPrefix(a, probe) })
	if !slices.Equal(got, want) {
		f.t.Errorf("got the answers\n%q\nwant\n%q", got, want)
	}
}

// everyLane is agents in each of the four lanes, and none of them is ana.
func everyLane() (ids []string) {
	for lane := range 4 {
		for i := 0; ; i++ {
			if id := fmt.Sprintf("new%d", i); laneOf(id, 4) == lane {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// What came before any host ran is for all agents of the first configuration.
func TestFirstStartAnswersWhatIsThere(t *testing.T) {
	t.Parallel()
	f := newChangedFleet(t)
	bustest.Provision(t, f.bus.JS)
	f.write("demo", "early")
	all := everyLane()
	h, _ := f.start("blue", f.config("demo", all...))
	f.done(all...)
	var want []string
	for _, agent := range all {
		want = append(want, "early reply: "+agent)
	}
	f.want(h, want...)
}

// A lane whose consumer is lost begins at the first message again. Its agents answer what they
// had not answered, and nothing of the time before them.
func TestLostLaneBesideANewAgent(t *testing.T) {
	t.Parallel()
	f := newChangedFleet(t)
	bob := everyLane()[(laneOf("ana", 4)+1)%4]
	lose := func(agent string) {
		t.Helper()
		if err := f.bus.JS.DeleteConsumer(t.Context(), bus.InboundStream, delivery.LaneName(laneOf(agent, 4))); err != nil {
			t.Fatal(err)
		}
	}
	_, stop := f.start("blue", f.config("demo", "ana"))
	f.write("demo", "1")
	f.done("ana")
	stop()
	f.write("demo", "2") // ana is to answer it
	lose("ana")
	h, stop := f.start("blue", f.config("demo", "ana", bob))
	f.bound(h, "demo", "ana", bob)
	f.write("demo", "3")
	f.done("ana", bob)
	stop()
	f.write("demo", "4")
	lose(bob)
	h, _ = f.start("blue", f.config("demo", "ana", bob))
	f.done("ana", bob)
	f.want(h, "1 reply: ana", "2 reply: ana", "3 reply: ana", "3 reply: "+bob, "4 reply: ana", "4 reply: "+bob)
}
