package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"agenthost/plugins/settings"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	subject  = "plugin.outbound.test.one"
	inbound  = "plugin.inbound.test.one"
	consumer = "plugin-test-one"
)

// A runner is a host that runs a courier on a connection of its own.
type runner struct {
	testing.TB
	bus       *bus.Bus
	log       *bustest.LogBuffer
	publisher *publishing.Publisher
	account   plugins.Account
	channel   plugins.Channel
	parts     plugins.Parts
	courier   *plugins.Courier
	stop      func()
}

// connect opens a connection to a server for a host; url is empty for a server of
// its own without a port.
func connect(t testing.TB, url string) *bus.Bus {
	t.Helper()
	if url == "" {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		return b
	}
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(bustest.Context(t)); err != nil {
		t.Fatal(err)
	}
	bustest.Provision(t, b.JS)
	return b
}

// newHost makes a host that is not started.
func newHost(t testing.TB, b *bus.Bus, name string, ch plugins.Channel, account settings.Account) *runner {
	t.Helper()
	h := &runner{TB: t, bus: b, log: &bustest.LogBuffer{}}
	publisher, err := publishing.New(b.NC, zerolog.New(h.log))
	if err != nil {
		t.Fatal(err)
	}
	background(t, publisher.Run)
	h.publisher = publisher
	h.account, h.channel = plugins.Account{Channel: "test", Instance: "one", Settings: account}, ch
	h.parts = plugins.Parts{
		NC: b.NC, JS: b.JS, Publisher: publisher, Files: filestore.New(b.JS), Reader: records.NewReader(b.JS),
		Host: name, Log: zerolog.New(h.log).Level(zerolog.DebugLevel), Agents: func() []string { return []string{"ana", longAgent} },
	}
	return h.in(nil)
}

// in has the direct chats be those sessions.
func (h *runner) in(of func(session.Key) session.Key) *runner {
	h.parts.Session = of
	h.courier = plugins.New(h.account, h.channel, h.parts)
	return h
}

const longAgent = "an-agent-with-a-name-that-is-long-enough-for-every-button"

// startHost makes a host and starts it.
func startHost(t testing.TB, b *bus.Bus, name string, ch plugins.Channel, account settings.Account) *runner {
	t.Helper()
	h := newHost(t, b, name, ch, account)
	h.start()
	return h
}

func (h *runner) start() {
	h.stop = background(h, h.courier.Run)
}

func (h *runner) connected() *runner {
	h.Helper()
	h.state(plugins.StateConnected)
	return h
}

func (h *runner) state(want string) {
	h.Helper()
	bustest.Eventually(h, "the state is "+want, func() bool { return h.courier.Status().State == want })
}

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

// reply is a reply of ana to a person.
func reply(id, to, text string) bus.Outbound {
	return bus.Outbound{
		ID: id, Agent: "ana", Session: string(session.DM("test", "one", to)), Run: strings.Split(id, ".")[0], Kind: bus.KindReply,
		To: to, Text: text, Final: true, SentAt: time.Now().UTC(),
	}
}

func send(t testing.TB, b *bus.Bus, replies ...bus.Outbound) {
	t.Helper()
	for _, out := range replies {
		data, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		sendRaw(t, b, out.ID, data)
	}
}

func sendRaw(t testing.TB, b *bus.Bus, id string, data []byte) {
	t.Helper()
	msg := nats.NewMsg(subject)
	msg.Data = data
	if id != "" {
		msg.Header.Set(nats.MsgIdHdr, id)
	}
	if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

// settled waits until no reply is left.
func settled(t testing.TB, b *bus.Bus) {
	t.Helper()
	stream, err := b.JS.Stream(t.Context(), bus.OutboundStream)
	if err != nil {
		t.Fatal(err)
	}
	last, err := stream.GetLastMsgForSubject(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "no reply is left", func() bool {
		return consumerInfo(t, b).AckFloor.Stream >= last.Sequence
	})
}

func consumerInfo(t testing.TB, b *bus.Bus) *jetstream.ConsumerInfo {
	t.Helper()
	c, err := b.JS.Consumer(t.Context(), bus.OutboundStream, consumer)
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo()
}

// stored are the messages of a stream, the oldest first.
func stored(t testing.TB, b *bus.Bus, stream, subject string) (list []*jetstream.RawStreamMsg) {
	t.Helper()
	s, err := b.JS.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err == nil && m.Subject == subject {
			list = append(list, m)
		}
	}
	return list
}

func deadLetters(t testing.TB, b *bus.Bus) (letters []bus.DeadLetter) {
	t.Helper()
	for _, m := range stored(t, b, bus.DeadStream, "agent.dead.ana") {
		letter := bus.DeadLetter{}
		if err := json.Unmarshal(m.Data, &letter); err != nil {
			t.Fatal(err)
		}
		letters = append(letters, letter)
	}
	return letters
}

// numbered are n replies to a person.
func numbered(to string, from, n int) (list []bus.Outbound) {
	for i := range n {
		list = append(list, reply(fmt.Sprintf("%s%03d.1", to, from+i), to, fmt.Sprintf("%s %03d", to, from+i)))
	}
	return list
}

func wantTexts(to string, n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("%s %03d", to, i))
	}
	return texts
}
