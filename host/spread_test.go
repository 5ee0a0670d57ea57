package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An unhurried agent takes its time, and counts how often each message is begun.
type unhurried struct {
	agents.Base
	fleet *spreadFleet
}

func (s unhurried) Decide(ctx context.Context, t agents.Turn) (agents.Answer, error) {
	f := s.fleet
	f.mu.Lock()
	f.begun[t.Text()]++
	delay := f.delay
	f.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return agents.Answer{}, ctx.Err()
	}
	return agents.Say(t.Text()), nil
}

// A spreadFleet is hosts on one NATS, with agents in all lanes, and people who write.
type spreadFleet struct {
	testing.TB
	url string
	js  jetstream.JetStream

	client *client.Client

	mu       sync.Mutex
	delay    time.Duration
	begun    map[string]int // by text
	sent     map[string]time.Time
	answered map[string]time.Duration // after which it was
	last     map[string]int           // by session
	wrong    []string
}

const (
	spreadAgents = 30
	spreadPeople = 4 // of each agent
)

func newSpreadFleet(t testing.TB, delay time.Duration) *spreadFleet {
	t.Helper()
	f := &spreadFleet{TB: t, delay: delay, begun: map[string]int{}, sent: map[string]time.Time{}, answered: map[string]time.Duration{}, last: map[string]int{}}
	f.url, _ = bustest.Server(t)
	nc, err := nats.Connect(f.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if f.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	f.client = client.New(nc, f.js, client.Options{})
	if _, err := nc.Subscribe("plugin.outbound.load.*", f.hear); err != nil {
		t.Fatal(err)
	}
	return f
}

// join starts a host of the fleet.
func (f *spreadFleet) join(name string, weight int) (stop func()) {
	f.Helper()
	cfg := demo(f)
	cfg.NATS.URL, cfg.HTTP.Listen = f.url, ""
	cfg.Models, cfg.Agents, cfg.Plugins.Web = nil, nil, nil
	for n := range spreadAgents {
		id := fmt.Sprintf("a%02d", n)
		cfg.Agents = append(cfg.Agents, config.Agent{Config: agents.Config{ID: id, Behavior: "slow", Channels: []agents.Binding{{Channel: "load", Instance: id}}}})
	}
	_, stop = startOptions(f, host.Options{
		Config: cfg, Name: name, Weight: weight, Log: hosttest.Log(f).With().Str("of", name).Logger(),
		Behaviors: map[string]agents.Factory{"slow": func(agents.Env) (agents.Behavior, error) { return unhurried{fleet: f}, nil }},
	})
	return stop
}

// hear notes a reply.
func (f *spreadFleet) hear(m *nats.Msg) {
	out := bus.Outbound{}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := json.Unmarshal(m.Data, &out); err != nil || out.Kind != bus.KindReply {
		f.wrong = append(f.wrong, string(m.Data))
		return
	}
	chat, number, _ := strings.Cut(out.Text, " ")
	n := 0
	fmt.Sscan(number, &n)
	if _, twice := f.answered[out.Text]; twice {
		f.wrong = append(f.wrong, out.Text+" came twice")
	}
	if n != f.last[chat]+1 {
		f.wrong = append(f.wrong, fmt.Sprintf("%s came after %d", out.Text, f.last[chat]))
	}
	f.last[chat] = n
	f.answered[out.Text] = time.Since(f.sent[out.Text])
}

// write has people write, rate messages a second in all, until stop is called, which waits
// for all replies.
func (f *spreadFleet) write(rate int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				f.say(i%spreadAgents, i/spreadAgents%spreadPeople, 1+i/(spreadAgents*spreadPeople))
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		f.settle()
	})
	f.Cleanup(func() { cancel(); <-ended })
	return stop
}

// settle waits until all is answered.
func (f *spreadFleet) settle() {
	f.Helper()
	waittest.Until(f, "all is answered", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.answered) == len(f.sent)
	})
}

// say has a person write to an agent.
func (f *spreadFleet) say(agent, person, number int) { f.sayWith(agent, person, number, "") }

func (f *spreadFleet) sayWith(agent, person, number int, priority string) {
	from := fmt.Sprintf("a%02d-p%d", agent, person)
	text := fmt.Sprintf("%s %d", from, number)
	f.mu.Lock()
	f.sent[text] = time.Now()
	f.mu.Unlock()
	f.publish(agent, bus.Inbound{ID: text, From: from, Text: text, Priority: priority})
}

// publish stores a message for an agent.
func (f *spreadFleet) publish(agent int, in bus.Inbound) {
	data, err := json.Marshal(in)
	if err != nil {
		f.Error(err)
		return
	}
	if _, err := f.js.Publish(context.Background(), fmt.Sprintf("plugin.inbound.load.a%02d", agent), data); err != nil {
		f.Error(err)
	}
}

// worst is the longest that a message waited that was sent since, beyond the time of its run.
func (f *spreadFleet) worst(since time.Time) (most time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for text, took := range f.answered {
		if f.sent[text].After(since) {
			most = max(most, took-f.delay)
		}
	}
	return most.Round(time.Millisecond)
}

// check fails the test for what was lost, came twice or out of order.
func (f *spreadFleet) check() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wrong) > 0 || len(f.answered) != len(f.sent) {
		f.Errorf("%d sent, %d answered, wrong: %v", len(f.sent), len(f.answered), f.wrong)
	}
}

// spread waits until the hosts serve as many lanes as is said.
func (f *spreadFleet) spread(want map[string]int) {
	f.Helper()
	began, got := time.Now(), map[string]int{}
	waittest.Until(f, fmt.Sprintf("lanes are spread as %v", want), func() bool {
		got = f.owners()
		return maps.Equal(got, want)
	})
	f.Logf("lanes are spread as %v after %v", want, time.Since(began).Round(time.Millisecond))
}

// owners is how many lanes each host serves.
func (f *spreadFleet) owners() map[string]int {
	got := map[string]int{}
	kv, err := f.js.KeyValue(context.Background(), bus.LanesBucket)
	if err != nil {
		f.Fatal(err)
	}
	for n := range 4 {
		entry, err := kv.Get(context.Background(), bus.InboundStream+"."+delivery.LaneName(n))
		note := struct{ Host, Pin string }{}
		if err == nil && json.Unmarshal(entry.Value(), &note) == nil && note.Pin != "" {
			got[note.Host]++
		}
	}
	return got
}

// What a person waits for while a host joins, and while one leaves: three hosts, 30 agents,
// 100 messages a second, runs of 50 ms.
func BenchmarkHostsComeAndGo(b *testing.B) {
	worst := map[string]time.Duration{}
	for b.Loop() {
		f := newSpreadFleet(b, 50*time.Millisecond)
		f.join("one", 1)
		leave := f.join("two", 1)
		stop := f.write(100)
		since := time.Now()
		note := func(name string) {
			time.Sleep(5 * time.Second)
			worst[name] = max(worst[name], f.worst(since))
			since = time.Now()
		}
		waittest.Until(b, "two hosts serve", func() bool { return len(f.owners()) == 2 })
		since = time.Now()
		note("ms-quiet")
		f.join("three", 1)
		waittest.Until(b, "three hosts serve", func() bool { return len(f.owners()) == 3 })
		note("ms-join")
		leave()
		note("ms-leave")
		stop()
		f.check()
	}
	for name, took := range worst {
		b.ReportMetric(float64(took.Milliseconds()), name)
	}
}
