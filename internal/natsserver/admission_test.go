package natsserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// listening is an embedded server with a port, and the streams of a fleet.
func listening(t *testing.T, anonymous string) (*bus.Bus, bus.Config) {
	t.Helper()
	cfg := bustest.Config(t)
	address := "127.0.0.1:0"
	cfg.Embedded.Listen, cfg.Embedded.Anonymous = &address, anonymous
	b := bustest.OpenConfig(t, cfg)
	bustest.Provision(t, b.JS)
	return b, cfg
}

// A guest is a connection whose refusals are kept.
type guest struct {
	t *testing.T
	*nats.Conn
	js jetstream.JetStream

	mu      sync.Mutex
	refused []string
}

// told is what the client was told of so far.
func (g *guest) told() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.refused)
}

func enter(t *testing.T, url string, opts ...nats.Option) *guest {
	t.Helper()
	g := &guest{t: t}
	opts = append(opts, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.refused = append(g.refused, err.Error())
	}))
	var err error
	if g.Conn, err = nats.Connect(url, opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if g.js, err = jetstream.New(g.Conn); err != nil {
		t.Fatal(err)
	}
	return g
}

// flush returns once the server has seen all that was sent, and the client all
// that was refused.
func (g *guest) flush() {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 20*time.Second)
	defer cancel()
	if err := g.FlushWithContext(ctx); err != nil {
		g.t.Fatal(err)
	}
}

// mayPublish reports whether the server takes a publish on subject.
func (g *guest) mayPublish(subject string) bool {
	g.t.Helper()
	if err := g.Publish(subject, []byte("{}")); err != nil {
		g.t.Fatal(err)
	}
	return g.allowed(fmt.Sprintf("Permissions Violation for Publish to %q", subject))
}

func (g *guest) maySubscribe(subject string) bool {
	g.t.Helper()
	sub, err := g.SubscribeSync(subject)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	return g.allowed(fmt.Sprintf("Permissions Violation for Subscription to %q", subject))
}

// allowed reports whether the server did not say text. Errors are handled in
// order, so the one of a probe comes after it.
func (g *guest) allowed(text string) bool {
	g.t.Helper()
	g.flush()
	if err := g.LastError(); err != nil && strings.Contains(strings.ToLower(err.Error()), strings.ToLower(text)) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.refused {
		if strings.Contains(strings.ToLower(r), strings.ToLower(text)) {
			return false
		}
	}
	return true
}

// Without the token a connection is a channel: it writes inbound, and reads
// outbound, live and by a durable consumer.
func TestAnonymousConnectionIsAChannel(t *testing.T) {
	t.Parallel()
	b, _ := listening(t, "")
	g := enter(t, b.URL())
	ctx := bustest.Context(t)
	if ack, err := g.js.Publish(ctx, "plugin.inbound.web", []byte("hi"), jetstream.WithMsgID("1")); err != nil || ack.Stream != bus.InboundStream || ack.Sequence != 1 {
		t.Fatalf("got %+v, %v", ack, err)
	}
	if ack, err := g.js.Publish(ctx, "plugin.inbound.web", []byte("hi"), jetstream.WithMsgID("1")); err != nil || !ack.Duplicate {
		t.Errorf("sent again: got %+v, %v, want a duplicate", ack, err)
	}
	live, err := g.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	g.flush()
	for range 3 {
		if _, err := b.JS.Publish(ctx, "plugin.outbound.web", []byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := live.NextMsgWithContext(ctx); err != nil || string(m.Data) != "hello" {
		t.Fatalf("live: got %v, %v", m, err)
	}
	for range 2 { // the second time it is there
		cons, err := g.js.CreateOrUpdateConsumer(ctx, bus.OutboundStream, jetstream.ConsumerConfig{
			Durable: "plugin-web", FilterSubject: "plugin.outbound.web", AckPolicy: jetstream.AckExplicitPolicy,
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := cons.Next(jetstream.FetchMaxWait(20 * time.Second))
		if err != nil || string(m.Data()) != "hello" {
			t.Fatalf("durable: got %v, %v", m, err)
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
	info, err := b.JS.Consumer(ctx, bus.OutboundStream, "plugin-web")
	if err != nil || info.CachedInfo().AckFloor.Stream != 2 {
		t.Errorf("got %+v, %v, want two acknowledged", info, err)
	}
	if _, err := g.js.AccountInfo(ctx); err != nil {
		t.Error(err)
	}
	if refused := g.told(); len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
}

// In a JetStream domain a channel asks by the subjects of the domain, or without.
func TestAnonymousConnectionInADomain(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	address := "127.0.0.1:0"
	cfg.Embedded.Listen, cfg.Domain = &address, "edge"
	b := bustest.OpenConfig(t, cfg)
	bustest.Provision(t, b.JS)
	g := enter(t, b.URL())
	edge, err := jetstream.NewWithDomain(g.Conn, "edge")
	if err != nil {
		t.Fatal(err)
	}
	ctx := bustest.Context(t)
	if _, err := b.JS.Publish(ctx, "plugin.outbound.web", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	for name, js := range map[string]jetstream.JetStream{"edge": edge, "plain": g.js} {
		cons, err := js.CreateConsumer(ctx, bus.OutboundStream, jetstream.ConsumerConfig{Durable: name, FilterSubject: "plugin.outbound.web"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := cons.Next(jetstream.FetchMaxWait(20 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Error(err)
		}
	}
	if g.mayPublish("$JS.edge.API.STREAM.DELETE.AGENT_OUTBOUND") {
		t.Error("it may delete a stream")
	}
	if refused := g.told(); len(refused) > 1 {
		t.Errorf("refused: %q", refused)
	}
}

func TestAnonymousConnectionMayNot(t *testing.T) {
	t.Parallel()
	b, _ := listening(t, "")
	g := enter(t, b.URL())
	for _, subject := range []string{
		"agent.route.bank", "agent.schedule.bank.x", "agent.session.bank.x", "agent.snapshot.bank.x", "agent.events.bank.started",
		"agent.dead.bank", "agenthost.status", "agenthost.reload", "agenthost.approve", "agenthost.channels.CONSUMER.CREATE.AGENT_ROUTES",
		"plugin.outbound.web", "$SRV.PING", "$KV.AGENT_ALLOWED.x", "$O.AGENT_FILES.M.x", "_INBOX.x", "elsewhere",
		"$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.AGENT_SESSIONS", "$JS.API.STREAM.DELETE.AGENT_OUTBOUND", "$JS.API.STREAM.PURGE.AGENT_OUTBOUND",
		"$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.UPDATE.AGENT_INBOUND", "$JS.API.STREAM.MSG.GET.AGENT_OUTBOUND", "$JS.API.DIRECT.GET.AGENT_SESSIONS",
		"$JS.API.CONSUMER.CREATE.AGENT_SESSIONS.mine.agent.session.bank.x", "$JS.API.CONSUMER.CREATE.AGENT_INBOUND.mine.plugin.inbound.web",
		"$JS.API.CONSUMER.DURABLE.CREATE.AGENT_ROUTES.mine", "$JS.API.CONSUMER.MSG.NEXT.AGENT_INBOUND.lane-0", "$JS.API.CONSUMER.DELETE.AGENT_OUTBOUND.plugin-web",
		"$JS.API.CONSUMER.UNPIN.AGENT_INBOUND.lane-0", "$JS.ACK.AGENT_INBOUND.lane-0.1.1.1.1.0", "$SYS.REQ.SERVER.PING",
	} {
		if g.mayPublish(subject) {
			t.Errorf("may publish on %s", subject)
		}
	}
	for _, subject := range []string{">", "agent.>", "agent.route.*", "agent.stream.*.*", "agenthost.>", "plugin.inbound.>", "plugin.>", "$SRV.>", "$KV.>", "$JS.>", "elsewhere"} {
		if g.maySubscribe(subject) {
			t.Errorf("may subscribe to %s", subject)
		}
	}
}

// The server answers on the subject that a request names, with its own rights:
// none of the hosts' subjects is reached that way.
func TestAnonymousRepliesReachNoHost(t *testing.T) {
	t.Parallel()
	b, _ := listening(t, "")
	g := enter(t, b.URL())
	ctx := bustest.Context(t)
	if _, err := b.JS.Publish(ctx, "plugin.outbound.web", []byte(`{"agent":"ana","session":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.js.CreateConsumer(ctx, bus.OutboundStream, jetstream.ConsumerConfig{Durable: "mine"}); err != nil {
		t.Fatal(err)
	}
	heard, err := b.NC.SubscribeSync("agenthost.reload")
	if err != nil {
		t.Fatal(err)
	}
	const session = "agent.session.ana.x"
	for _, reply := range []string{"agenthost.reload", session} {
		for subject, data := range map[string]string{
			"plugin.inbound.web": "hi", "$JS.API.INFO": "", "$JS.API.STREAM.NAMES": "", "$JS.API.CONSUMER.INFO.AGENT_OUTBOUND.mine": "",
			"$JS.API.CONSUMER.MSG.NEXT.AGENT_OUTBOUND.mine": `{"batch":1,"no_wait":true}`, "$JS.API.CONSUMER.CREATE.AGENT_OUTBOUND.x": "{}",
		} {
			if err := g.PublishRequest(subject, reply, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	traced := nats.NewMsg("plugin.inbound.web")
	traced.Header.Set("Nats-Trace-Dest", "agenthost.reload")
	if err := g.PublishMsg(traced); err != nil {
		t.Fatal(err)
	}
	// What was sent before this one has been answered.
	if _, err := g.RequestWithContext(ctx, "$JS.API.CONSUMER.CREATE.AGENT_OUTBOUND.x", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := g.js.Publish(ctx, "plugin.inbound.web", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JS.AccountInfo(ctx); err != nil {
		t.Fatal(err)
	}
	if n, _, err := heard.Pending(); err != nil || n > 0 {
		t.Errorf("a host heard %d orders, %v", n, err)
	}
	stream, err := b.JS.Stream(ctx, bus.SessionsStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n > 0 {
		t.Errorf("got %d messages in the log of a session, want none", n)
	}
}

// A consumer that pushes publishes where its creator says.
func TestAnonymousConsumersPullFromOutboundOnly(t *testing.T) {
	t.Parallel()
	b, _ := listening(t, "")
	g := enter(t, b.URL())
	if _, err := b.JS.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{Durable: "plugin-web", FilterSubject: "plugin.outbound.web"}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ subject, config, want string }{
		"pushes":            {"CREATE.AGENT_OUTBOUND.x", `{"stream_name":"AGENT_OUTBOUND","config":{"name":"x","deliver_subject":"agenthost.reload"}}`, "pulls"},
		"pushes, any case":  {"CREATE.AGENT_OUTBOUND.x", `{"stream_name":"AGENT_OUTBOUND","config":{"name":"x","Deliver_Subject":"agent.route.bank"}}`, "pulls"},
		"durable pushes":    {"DURABLE.CREATE.AGENT_OUTBOUND.x", `{"stream_name":"AGENT_OUTBOUND","config":{"durable_name":"x","deliver_subject":"agent.session.a.b"}}`, "pulls"},
		"ephemeral pushes":  {"CREATE.AGENT_OUTBOUND", `{"stream_name":"AGENT_OUTBOUND","config":{"deliver_subject":"_INBOX.x"}}`, "pulls"},
		"another stream":    {"CREATE.AGENT_OUTBOUND.x", `{"stream_name":"AGENT_ROUTES","config":{"name":"x"}}`, "AGENT_OUTBOUND only"},
		"direct":            {"CREATE.AGENT_OUTBOUND.x", `{"stream_name":"AGENT_OUTBOUND","config":{"name":"x","direct":true}}`, "direct"},
		"another's filter":  {"CREATE.AGENT_OUTBOUND.plugin-web", `{"stream_name":"AGENT_OUTBOUND","action":"update","config":{"name":"plugin-web","durable_name":"plugin-web","filter_subject":"plugin.outbound.none"}}`, "consumer already exists"},
		"malformed":         {"CREATE.AGENT_OUTBOUND.x", `{`, "read the request"},
		"filter of another": {"CREATE.AGENT_OUTBOUND.x.agent.session.a.b", `{"stream_name":"AGENT_OUTBOUND","config":{"name":"x","filter_subject":"agent.session.a.b"}}`, "filter"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := g.RequestWithContext(bustest.Context(t), "$JS.API.CONSUMER."+tt.subject, []byte(tt.config))
			if err != nil || !strings.Contains(string(m.Data), tt.want) || !strings.Contains(string(m.Data), `"error"`) {
				t.Errorf("got %v, %v, want … %s …", m, err, tt.want)
			}
		})
	}
}

// What a stream allows by a header it allows to all who may publish there.
func TestInboundTakesNoOrdersInHeaders(t *testing.T) {
	t.Parallel()
	b, _ := listening(t, "")
	g := enter(t, b.URL())
	for header, value := range map[string]string{
		"Nats-Rollup": "all", "Nats-TTL": "1s", "Nats-Schedule": "@every 1s", "Nats-Batch-Id": "b", "Nats-Incr": "1",
	} {
		msg := nats.NewMsg("plugin.inbound.web")
		msg.Header.Set(header, value)
		msg.Header.Set("Nats-Batch-Sequence", "1")
		msg.Header.Set("Nats-Schedule-Target", "plugin.inbound.other")
		if header != "Nats-Schedule" {
			msg.Header.Del("Nats-Schedule-Target")
		}
		if header != "Nats-Batch-Id" {
			msg.Header.Del("Nats-Batch-Sequence")
		}
		if ack, err := g.js.PublishMsg(bustest.Context(t), msg); err == nil {
			t.Errorf("%s: got %+v, want an error", header, ack)
		}
	}
}

func TestTokenHasAllRights(t *testing.T) {
	t.Parallel()
	b, cfg := listening(t, "")
	file := filepath.Join(cfg.Embedded.Store, "token")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	address := strings.TrimPrefix(b.URL(), "nats://")
	cfg.Embedded.Listen = &address
	nc, js, err := bus.Dial(bustest.Context(t), cfg, "cli", bustest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := js.Stream(bustest.Context(t), bus.SessionsStream); err != nil {
		t.Error(err)
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	b = bustest.OpenConfig(t, cfg)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(token) {
		t.Errorf("the token after a restart: got %q, %v, want %q", again, err, token)
	}
	g := enter(t, b.URL(), nats.UserInfo("agenthost", strings.TrimSpace(string(token))))
	if !g.mayPublish("agent.route.ana") {
		t.Errorf("with the token: %q", g.told())
	}
}

func TestWrongCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	for _, anonymous := range []string{"", bus.AnonymousAll, bus.AnonymousNone} {
		b, _ := listening(t, anonymous)
		for name, opt := range map[string]nats.Option{
			"password": nats.UserInfo("agenthost", "guess"), "no password": nats.UserInfo("agenthost", ""),
			"user": nats.UserInfo("ana", ""), "token": nats.Token("guess"), "anonymous by name": nats.UserInfo("anonymous", "x"),
		} {
			nc, err := nats.Connect(b.URL(), opt)
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%s: got %v, want %v", name, err, nats.ErrAuthorization)
			}
			if nc != nil {
				nc.Close()
			}
		}
	}
}

func TestAnonymousNoneAndAll(t *testing.T) {
	t.Parallel()
	none, _ := listening(t, bus.AnonymousNone)
	if nc, err := nats.Connect(none.URL()); !errors.Is(err, nats.ErrAuthorization) {
		nc.Close()
		t.Errorf("none: got %v, want %v", err, nats.ErrAuthorization)
	}
	all, _ := listening(t, bus.AnonymousAll)
	if g := enter(t, all.URL()); !g.mayPublish("agent.route.ana") || !g.maySubscribe("agent.>") {
		t.Errorf("all: refused %q", g.told())
	}
}

// The token goes to the server that made it, and to none that others have put on
// its port.
func TestTokenGoesToItsServerOnly(t *testing.T) {
	t.Parallel()
	b, cfg := listening(t, "")
	_, port, _ := strings.Cut(strings.TrimPrefix(b.URL(), "nats://"), ":")
	for url, want := range map[string]bool{
		b.URL(): true, "nats://localhost:" + port: true, "nats://0.0.0.0:" + port: true, "nats://[::1]:" + port: true,
		"nats://127.0.0.1:1": false, "nats://10.0.0.5:" + port: false, "nats://me@127.0.0.1:" + port: false, "nats://%zz": false,
		"nats://nats.example:" + port: false, b.URL() + ",nats://nats.example:4222": false,
	} {
		if got := cfg.Embedded.ServesAt(url); got != want {
			t.Errorf("%s: got %t, want %t", url, got, want)
		}
	}
	url := b.URL()
	b.Close()
	if cfg.Embedded.ServesAt(url) {
		t.Error("a stopped server has an address")
	}
}

// Who may write a file of the data folder is the host's user; a token that
// another could read is closed again, and one that a crash cut short made again.
func TestTokenFileIsMended(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	file := filepath.Join(cfg.Embedded.Store, "token")
	for name, text := range map[string]string{"open": "guessed\n", "empty": ""} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		b := bustest.OpenConfig(t, cfg)
		data, err := os.ReadFile(file)
		if err != nil || len(data) < 8 {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", name, info.Mode(), err)
		}
		b.Close()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := bustest.TryOpen(t, cfg); err == nil || !strings.Contains(err.Error(), "read the token of the embedded server") {
		t.Errorf("a token that cannot be read: got %v", err)
	}
	if _, err := cfg.WithToken(); err == nil || !strings.Contains(err.Error(), "run this as the user that runs the host") {
		t.Errorf("dial: got %v, want what helps", err)
	}
}

// The server that takes the place of one whose disk was full admits the same.
func TestReopenedServerAdmitsTheSame(t *testing.T) {
	t.Parallel()
	s, js := startServer(t)
	g := enter(t, s.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if g.mayPublish("agent.route.bank") {
		t.Fatal("may publish before")
	}
	back := g.StatusChanged(nats.CONNECTED)
	if err := s.Reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-back
	if g.mayPublish("agent.route.other") {
		t.Error("may publish on a route after the server was replaced")
	}
	if _, err := g.js.Publish(bustest.Context(t), "plugin.inbound.web", nil); err != nil {
		t.Error(err)
	}
	eventually := bustest.Context(t)
	for {
		if _, err := js.Stream(eventually, bus.SessionsStream); err == nil {
			break
		} else if eventually.Err() != nil {
			t.Fatal(err)
		}
	}
}

// startServer is a server with a port, and the host's own connection to it.
func startServer(t *testing.T) (*natsserver.Server, jetstream.JetStream) {
	t.Helper()
	cfg, address := bustest.Config(t), "127.0.0.1:0"
	cfg.Embedded.Listen = &address
	s, err := natsserver.Start(t.Context(), bus.Options{Config: cfg, Log: bustest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo(bus.EmbeddedUser, s.Token()), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	bustest.Provision(t, js)
	return s, js
}

func TestReachableWithoutAuthenticationIsRefused(t *testing.T) {
	t.Parallel()
	conf := func(text string) bus.Embedded {
		file := filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return bus.Embedded{Config: file}
	}
	everywhere, local := "0.0.0.0:0", "127.0.0.1:0"
	for name, tt := range map[string]struct {
		embedded bus.Embedded
		want     string // empty: it starts
	}{
		"channels":             {bus.Embedded{Listen: &everywhere}, "nats.embedded.anonymous to none"},
		"all":                  {bus.Embedded{Listen: &everywhere, Anonymous: bus.AnonymousAll}, "nats.embedded.listen 0.0.0.0:-1"},
		"none":                 {bus.Embedded{Listen: &everywhere, Anonymous: bus.AnonymousNone}, ""},
		"all, on the loopback": {bus.Embedded{Listen: &local, Anonymous: bus.AnonymousAll}, ""},
		"file":                 {conf("listen: 0.0.0.0:-1"), "nats.embedded.listen"},
		"file with users":      {conf("listen: 0.0.0.0:-1\nauthorization {user: ana, password: x}"), ""},
		"websocket":            {conf("listen: 127.0.0.1:-1\nwebsocket {port: 65001, no_tls: true}"), "websocket"},
		"cluster":              {conf("listen: 127.0.0.1:-1\ncluster {name: c, listen: \"0.0.0.0:-1\"}"), "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := bus.Config{Embedded: tt.embedded}
			cfg.Embedded.Store = t.TempDir()
			if strings.Contains(name, "users") {
				cfg.User, cfg.Password = "ana", "x"
			}
			b, err := bustest.TryOpen(t, cfg)
			if b != nil {
				b.Close()
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want … %s …", err, tt.want)
			}
		})
	}
}

// With users of the operator's own there is no token, and none of an earlier
// start stays that commands would try.
func TestServerWithUsersHasNoToken(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	bustest.OpenConfig(t, cfg).Close()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("authorization {user: ana, password: x}"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Embedded.Config, cfg.User, cfg.Password = file, "ana", "x"
	bustest.OpenConfig(t, cfg)
	if _, err := os.Stat(filepath.Join(cfg.Embedded.Store, "token")); !os.IsNotExist(err) {
		t.Errorf("the token: got %v, want none", err)
	}
}
