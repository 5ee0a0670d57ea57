package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/llm/scripted"
	"agenthost/session"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// A world is a bus with agents at work on it.
type world struct {
	t     testing.TB
	bus   *bus.Bus
	parts *engine.Parts
	fleet *engine.Fleet
	out   chan *nats.Msg
	stop  func()

	change func(*engine.Options) // what is different in the next life of the host
}

// An actor is an agent of a world.
type actor struct {
	cfg         agents.Config
	script      string
	model       llm.Provider      // in place of a script
	models      map[string]string // others, with their scripts
	behavior    agents.Behavior
	tools       []tools.Tool
	awaits      []engine.Awaiter
	permissions map[string]string
	output      string
	price       *llm.Price
	maxTokens   int
	gate        *llm.Gate
}

func newWorld(t testing.TB, actors ...actor) *world {
	t.Helper()
	return newWorldOn(t, bustest.Open(t), 1, actors...)
}

// newWorldOn is newWorld on a bus whose streams are to have replicas.
func newWorldOn(t testing.TB, b *bus.Bus, replicas int, actors ...actor) *world {
	t.Helper()
	w := &world{t: t, bus: b, out: make(chan *nats.Msg, 1000)}
	if err := w.bus.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), w.bus.JS, replicas, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.bus.NC.ChanSubscribe("plugin.outbound.>", w.out); err != nil {
		t.Fatal(err)
	}
	w.start(actors...)
	return w
}

// start starts a host of the world; restart it with stop and start.
func (w *world) start(actors ...actor) {
	w.t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(w.t)).Level(zerolog.InfoLevel)
	publisher, err := publishing.New(w.bus.NC, log)
	if err != nil {
		w.t.Fatal(err)
	}
	reader, files := records.NewReader(w.bus.JS), filestore.New(w.bus.JS)
	opt := engine.Options{
		Host: "test", NC: w.bus.NC, JS: w.bus.JS, Publisher: publisher, Reader: reader, Files: files,
		Hooks: hooks.New(log), MaxPayload: 1 << 20, Log: log, Peers: &engine.Peers{},
		Store: &session.Store{Publisher: publisher, Reader: reader, Files: files, Limit: 1 << 19, Log: log},
	}
	if w.change != nil {
		w.change(&opt)
	}
	w.parts = engine.NewParts(opt)
	var peers []engine.Peer
	for _, a := range actors {
		peers = append(peers, engine.Peer{ID: a.cfg.ID, Description: a.cfg.Description, Channels: a.cfg.Channels})
	}
	w.parts.Peers.Set(peers)
	var runtimes []*engine.Runtime
	for _, a := range actors {
		runtimes = append(runtimes, w.runtime(a))
	}
	w.fleet = engine.NewFleet(w.bus.JS, w.parts, 4, runtimes)
	ctx, cancel := context.WithCancel(context.Background())
	work, abandon := context.WithCancel(context.Background())
	done := make(chan struct{})
	published := make(chan struct{})
	running, stopPublishing := context.WithCancel(context.Background())
	go func() { defer close(published); _ = publisher.Run(running) }()
	go func() { defer close(done); _ = w.fleet.Run(ctx, work) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		timer := time.AfterFunc(2*time.Second, abandon)
		<-done
		timer.Stop()
		abandon()
		stopPublishing()
		<-published
	}
	w.t.Cleanup(func() {
		abandon() // what is under way at the end of a test need not end well
		w.stop()
	})
	if err := w.fleet.Up(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) runtime(a actor) *engine.Runtime {
	w.t.Helper()
	return engine.New(a.cfg, w.kit(a), w.parts)
}

// kit is what an actor works with.
func (w *world) kit(a actor) engine.Kit {
	w.t.Helper()
	model := a.model
	if model == nil {
		script, err := scripted.Parse([]byte(a.script))
		if err != nil {
			w.t.Fatal(err)
		}
		model = script
	}
	policy, err := tools.NewPolicy(a.permissions)
	if err != nil {
		w.t.Fatal(err)
	}
	box := &engine.Toolbox{
		Registry: tools.NewRegistry(tools.Static(a.tools)), Grant: tools.GrantOf("*"), Policy: policy, Validator: &tools.Validator{},
		Output: json.RawMessage(a.output), Awaits: a.awaits,
	}
	chain := &llm.Chain{Links: []llm.Link{{Name: "scripted", Provider: model, Price: a.price, MaxTokens: a.maxTokens, Gate: a.gate}}}
	return engine.Kit{Chain: chain, Box: box, Behavior: a.behavior, Models: w.choice(a.models)}
}

// choice makes chains of scripted models.
func (w *world) choice(scripts map[string]string) func([]string) (*llm.Chain, error) {
	return func(names []string) (*llm.Chain, error) {
		chain := &llm.Chain{}
		for _, name := range names {
			script, ok := scripts[name]
			if !ok {
				return nil, fmt.Errorf("there is no model %q", name)
			}
			model, err := scripted.Parse([]byte(script))
			if err != nil {
				return nil, err
			}
			chain.Links = append(chain.Links, llm.Link{Name: "scripted", Provider: model})
		}
		return chain, nil
	}
}

// say publishes a message of ana's.
func (w *world) say(channel string, in bus.Inbound) {
	w.t.Helper()
	if in.From == "" {
		in.From = "ana"
	}
	w.publish("plugin.inbound."+channel, in)
}

func (w *world) publish(subject string, v any) {
	w.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.bus.NC.Publish(subject, data); err != nil {
		w.t.Fatal(err)
	}
}

// send publishes what a host, or the operator, sends to an agent.
func (w *world) send(subject string, v any) {
	w.t.Helper()
	msg, err := bus.NewMessage(subject, v)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sendMsg(msg)
}

func (w *world) sendMsg(msg *nats.Msg) {
	w.t.Helper()
	w.parts.Publisher.Signer().Sign(msg)
	if err := w.bus.NC.PublishMsg(msg); err != nil {
		w.t.Fatal(err)
	}
}

// hear waits for the next message to a person.
func (w *world) hear() bus.Outbound {
	w.t.Helper()
	_, out := w.hearOn()
	return out
}

// hearOn is hear with the subject that it is said on.
func (w *world) hearOn() (subject string, out bus.Outbound) {
	w.t.Helper()
	select {
	case m := <-w.out:
		if err := json.Unmarshal(m.Data, &out); err != nil {
			w.t.Fatal(err)
		}
		return m.Subject, out
	case <-time.After(60 * time.Second):
		w.t.Fatal("nothing is said")
		return "", out
	}
}

// expect waits for the next message to a person and compares what matters.
func (w *world) expect(kind, text string) bus.Outbound {
	w.t.Helper()
	out := w.hear()
	if out.Kind != kind || out.Text != text {
		w.t.Fatalf("heard %s %q, want %s %q", out.Kind, out.Text, kind, text)
	}
	return out
}

// silent fails when anything more has been said.
func (w *world) silent() {
	w.t.Helper()
	select {
	case m := <-w.out:
		w.t.Fatalf("heard %s besides", m.Data)
	default:
	}
}
