package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A crashWorld is a world on a fake clock, whose host can be cut off in the middle
// of what it does, as a crash would, and started again. It reaches the server over
// three connections, so that a test says what is lost: the commits of sessions,
// the replies, or all else, acknowledgements among it.
type crashWorld struct {
	*world
	server *server.Server
	js     jetstream.JetStream // of the test itself
	model  *holdingModel
	actor  actor

	commits, replies, rest *wire // of the host's present life
}

// inCrashWorld runs test in a world with one agent, ana, whose model repeats what
// it is told.
func inCrashWorld(t *testing.T, test func(w *crashWorld), more ...func(*actor)) {
	t.Helper()
	bustest.Bubble(t, func(t *testing.T) {
		w := &crashWorld{world: &world{t: t, out: make(chan *nats.Msg, 1000)}, model: &holdingModel{}}
		w.actor = bot("ana", more...)
		w.actor.model = w.model
		w.startServer()
		nc, js := w.connect(&wire{server: w.server})
		w.js = js
		if err := streams.Provision(t.Context(), js, 1, 4, zerolog.Nop()); err != nil {
			t.Fatal(err)
		}
		if _, err := nc.ChanSubscribe("plugin.outbound.>", w.out); err != nil {
			t.Fatal(err)
		}
		w.begin()
		test(w)
	})
}

func (w *crashWorld) startServer() {
	w.t.Helper()
	ns, err := server.NewServer(&server.Options{
		DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: bustest.Dir(w.t),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ns.Start()
	w.t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(20 * time.Second) {
		w.t.Fatal("the server is not ready")
	}
	w.server = ns
}

func (w *crashWorld) connect(way *wire) (*nats.Conn, jetstream.JetStream) {
	w.t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(way))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	way.nc = nc
	return nc, js
}

// begin begins a life of the host.
func (w *crashWorld) begin() {
	w.t.Helper()
	w.commits, w.replies, w.rest = &wire{server: w.server}, &wire{server: w.server}, &wire{server: w.server}
	nc, js := w.connect(w.rest)
	w.bus = &bus.Bus{NC: nc, JS: js}
	w.change = func(p *engine.Options) {
		p.Publisher = w.publisher(w.replies)
		p.Store.Publisher = w.publisher(w.commits)
	}
	w.start(w.actor)
}

func (w *crashWorld) publisher(way *wire) *publishing.Publisher {
	w.t.Helper()
	nc, _ := w.connect(way)
	p, err := publishing.New(nc, zerolog.Nop())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = p.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-ended })
	return p
}

// crash cuts the host off: what it has not sent is lost.
func (w *crashWorld) crash() {
	w.t.Helper()
	for _, way := range []*wire{w.commits, w.replies, w.rest} {
		way.cut()
	}
	w.stop()
	w.model.free()
}

// tell publishes messages whose text is their id.
func (w *crashWorld) tell(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		data, err := json.Marshal(bus.Inbound{ID: id, From: "ana", Text: id})
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.js.Publish(w.t.Context(), "plugin.inbound.ana", data); err != nil {
			w.t.Fatal(err)
		}
	}
}

// pass lets the host do all that it can do by itself.
func (w *crashWorld) pass() { time.Sleep(5 * time.Second) }

// wantReplies waits for one reply to each message, in order, and sees that no
// other is stored and that nothing is left to deliver.
func (w *crashWorld) wantReplies(ids ...string) {
	w.t.Helper()
	if got := w.answered(); !slices.Equal(got, ids) {
		w.t.Errorf("answered %q, want %q", got, ids)
	}
	w.settled()
}

// answered are the messages that were answered, in the order of their replies.
func (w *crashWorld) answered() []string {
	w.t.Helper()
	w.pass()
	got := []string{}
	reader := records.NewReader(w.js)
	for rec, err := range reader.Tail(w.t.Context(), bus.OutboundStream, "plugin.outbound.ana", 1) {
		if err != nil {
			w.t.Fatal(err)
		}
		out := bus.Outbound{}
		if err := json.Unmarshal(rec.Data, &out); err != nil {
			w.t.Fatal(err)
		}
		if out.Kind == bus.KindApproval || out.Kind == bus.KindNotice {
			continue
		}
		if out.Kind != bus.KindReply || out.Text != out.InReplyTo {
			w.t.Errorf("%s is answered with the %s %q", out.InReplyTo, out.Kind, out.Text)
		}
		got = append(got, out.InReplyTo)
	}
	return got
}

// committed are the events of a type in the log of the only session.
func (w *crashWorld) committed(kind run.EventType) (events []run.Event) {
	w.t.Helper()
	for rec, err := range records.NewReader(w.js).Tail(w.t.Context(), bus.SessionsStream, session.Subject("ana", "*"), 1) {
		c := session.Commit{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &c)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range c.Events {
			if e.Type == kind {
				events = append(events, e)
			}
		}
	}
	return events
}

// messages are the ids of n messages from the ith on.
func messages(i, n int) (ids []string) {
	for ; n > 0; n-- {
		ids = append(ids, fmt.Sprintf("m%02d", i))
		i++
	}
	return ids
}

// A wire is a connection of a host. What is sent over it while it is held reaches
// the server later, or never.
type wire struct {
	server *server.Server
	nc     *nats.Conn

	mu     sync.Mutex
	conn   net.Conn
	held   bool
	gone   bool
	unsent []byte
}

// InProcessConn makes the connection.
func (l *wire) InProcessConn() (net.Conn, error) {
	conn, err := l.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	l.conn = conn
	return wireEnd{conn, l}, nil
}

// hold keeps what is sent from now on.
func (l *wire) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// release sends what was kept, and keeps nothing more.
func (l *wire) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	_, _ = l.conn.Write(l.unsent) // an error ends the connection
	l.unsent = nil
}

// cut loses what is held, and all that would follow.
func (l *wire) cut() {
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	l.nc.Close()
}

func (l *wire) write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.gone:
		return len(data), nil
	case l.held:
		l.unsent = append(l.unsent, data...)
		return len(data), nil
	}
	return l.conn.Write(data)
}

// A wireEnd is the host's end of a wire.
type wireEnd struct {
	net.Conn
	way *wire
}

func (e wireEnd) Write(data []byte) (int, error) { return e.way.write(data) }

// A holdingModel repeats what it is told, but for texts that it was told to hold,
// and for the one that has it call the tool of that name first.
type holdingModel struct {
	call string

	mu    sync.Mutex
	until map[string]chan struct{} // closed when the text may be answered
	calls []string
}

// hold makes the calls with a text wait.
func (m *holdingModel) hold(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until == nil {
		m.until = map[string]chan struct{}{}
	}
	m.until[text] = make(chan struct{})
}

// release lets the calls with a text go on.
func (m *holdingModel) release(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.until[text])
	delete(m.until, text)
}

// free forgets what was held, for calls that are still to come.
func (m *holdingModel) free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = nil
}

// called is how often the model was called with a text.
func (m *holdingModel) called(text string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, call := range m.calls {
		if call == text {
			n++
		}
	}
	return n
}

// Stream answers one call.
func (m *holdingModel) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		text := req.LastText()
		m.mu.Lock()
		m.calls = append(m.calls, text)
		until := m.until[text]
		m.mu.Unlock()
		if until != nil {
			select {
			case <-until:
			case <-ctx.Done():
				yield(llm.Delta{}, llm.Stopped(ctx))
				return
			}
		}
		if text == m.call && req.Messages[len(req.Messages)-1].Role == llm.User {
			if yield(llm.Delta{Call: &llm.CallDelta{ID: text, Name: text, Args: "{}"}}, nil) {
				yield(llm.Delta{Finish: llm.FinishToolCalls}, nil)
			}
			return
		}
		if yield(llm.Delta{Text: text}, nil) {
			yield(llm.Delta{Finish: llm.FinishStop}, nil)
		}
	}
}
