package plugintest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/plugins"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	channel  = "suite"
	instance = "one"
	account  = channel + "." + instance
)

// A world is one NATS with an agent, a platform, and the host between them.
type world struct {
	testing.TB
	suite    Suite
	platform Platform
	limits   plugins.Limits
	bus      *bus.Bus
	agent    *agent
	parts    plugins.Parts
	courier  *plugins.Courier
	stop     func()
}

func newWorld(t testing.TB, s Suite, p Platform) *world {
	w := &world{TB: t, suite: s, platform: p, limits: p.Channel().Limits(), bus: bustest.Open(t)}
	bustest.Provision(t, w.bus.JS)
	publisher := startPublisher(t, w.bus)
	w.parts = plugins.Parts{
		NC: w.bus.NC, JS: w.bus.JS, Publisher: publisher, Files: filestore.New(w.bus.JS), Reader: records.NewReader(w.bus.JS),
		Host: "host-1", Log: bustest.Log(t), Agents: func() []string { return []string{agentID} },
	}
	w.agent = startAgent(t, w)
	return w
}

func startPublisher(t testing.TB, b *bus.Bus) *publishing.Publisher {
	publisher, err := publishing.New(b.NC, b.Log)
	if err != nil {
		t.Fatal(err)
	}
	background(t, publisher.Run)
	return publisher
}

// background runs something until stop is called or the test ends.
func background(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// startUnable starts a host that can store nothing, and waits until it owns the
// account. Its claim to do so comes from elsewhere.
func (w *world) startUnable() {
	w.Helper()
	able := w.parts.Publisher
	publisher, err := publishing.New(w.bus.NC, w.bus.Log)
	if err != nil {
		w.Fatal(err)
	}
	background(w, publisher.Run)()
	w.parts.Publisher = publisher
	defer func() { w.parts.Publisher = able }()
	w.run(w.platform.Channel())
	bustest.Eventually(w, "the host owns the account", func() bool {
		if _, err := w.bus.JS.Publish(w.Context(), bus.OwnerPrefix+account, nil); err != nil {
			w.Fatal(err)
		}
		return w.courier.Status().Owner
	})
}

// start starts a host with a channel of its own and waits until it is connected.
func (w *world) start(wrap ...func(plugins.Channel) plugins.Channel) {
	w.Helper()
	ch := w.platform.Channel()
	for _, f := range wrap {
		ch = f(ch)
	}
	w.run(ch)
	w.connected()
}

func (w *world) run(ch plugins.Channel) {
	w.courier = plugins.New(plugins.Account{Channel: channel, Instance: instance, Settings: w.suite.Account}, ch, w.parts)
	w.stop = background(w, w.courier.Run)
}

func (w *world) connected() {
	w.Helper()
	bustest.Eventually(w, "the account is connected", func() bool { return w.courier.Status().State == plugins.StateConnected })
}

func (w *world) write(text string) { w.platform.Write(Written{Chat: Direct, Text: text}) }

// says waits until a person in a chat sees each of the texts, once and in order.
func (w *world) says(chat Chat, want ...string) {
	w.Helper()
	all := func() string {
		var b strings.Builder
		for _, m := range w.platform.Sent(chat) {
			b.WriteString(m.Text + "\n")
		}
		return b.String()
	}
	last := want[len(want)-1]
	bustest.Eventually(w, "the platform shows "+last, func() bool { return strings.Contains(all(), last) })
	rest := all()
	for _, text := range want {
		if n := strings.Count(all(), text); n != 1 {
			w.Errorf("%q stands %d times in %q", text, n, all())
		}
		_, after, found := strings.Cut(rest, text)
		if !found {
			w.Errorf("%q is not in its place in %q", text, all())
		}
		rest = after
	}
}

// deadLetters waits for n dead letters.
func (w *world) deadLetters(n int) (letters []bus.DeadLetter) {
	w.Helper()
	for seq := range uint64(n) {
		letter := bus.DeadLetter{}
		bustest.Eventually(w, "a dead letter", func() bool {
			rec, err := w.parts.Reader.Get(w.Context(), bus.DeadStream, seq+1)
			return err == nil && json.Unmarshal(rec.Data, &letter) == nil
		})
		letters = append(letters, letter)
	}
	return letters
}

// settled waits until no reply is left to deliver.
func (w *world) settled() {
	w.Helper()
	last, err := w.parts.Reader.Last(w.Context(), bus.OutboundStream, bus.OutboundPrefix+account)
	if err != nil {
		w.Fatal(err)
	}
	bustest.Eventually(w, "no reply is pending", func() bool {
		info, err := w.consumer().Info(w.Context())
		return err == nil && info.AckFloor.Stream >= last.Seq
	})
}

func (w *world) consumer() jetstream.Consumer {
	w.Helper()
	c, err := w.bus.JS.Consumer(w.Context(), bus.OutboundStream, "plugin-"+channel+"-"+instance)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

const retryWait = time.Second
