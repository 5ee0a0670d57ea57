//go:build long

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/cli"
	"agenthost/internal/pause"
	"agenthost/session"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// roles are users and what they log in as.
var roles = map[string]string{
	"host": "host", "cli": "cli", "auditor": "auditor", "caller": "caller", "program": "program:bank", "telegram": "plugin:telegram", "sales": "plugin:telegram.sales",
}

const fleetConfig = `http: {listen: ""}
models: {main: {provider: echo}}
agents:
  - {id: bank, channels: [telegram, {channel: telegram, instance: sales}]}
  - {id: ana, channels: [web]}
`

// shared is a NATS whose users may do what the command prints, and a host on it.
type shared struct {
	t        *testing.T
	url, dir string
	host     *host.Host
}

func startShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{t: t, dir: t.TempDir()}
	s.url = s.serve(s.users())
	s.configure("host", "_INBOX_host")
	cfg, err := config.Load(filepath.Join(s.dir, "host.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.host = host.New(host.Options{Config: cfg, Name: "kiwi", Version: version, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel), Grace: time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.host.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-s.host.Ready():
	case err := <-ended:
		ended <- nil
		t.Fatalf("the host: %v", err)
	case <-time.After(time.Minute):
		t.Fatalf("the host is not ready: %v", s.host.Bus().NC.LastError())
	}
	return s
}

// users is the authorization block of all roles.
func (s *shared) users() string {
	var text bytes.Buffer
	text.WriteString("authorization {\n users: [\n")
	if err := os.WriteFile(filepath.Join(s.dir, "fleet.yaml"), []byte(fleetConfig), 0o600); err != nil {
		s.t.Fatal(err)
	}
	for user, role := range roles {
		block, _ := call(s.t, cli.CodeDone, "", "nats-permissions", "--for", role, "-c", filepath.Join(s.dir, "fleet.yaml"))
		fmt.Fprintf(&text, "{user: %s, password: secret\n%s}\n", user, block)
	}
	text.WriteString("]\n}\n")
	return text.String()
}

func (s *shared) serve(users string) (url string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream {store_dir: %q}\n%s", filepath.Join(s.dir, "nats"), users)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, text)
	}
	opts.NoSigs, opts.NoLog = true, true
	ns, err := server.NewServer(opts)
	if err != nil {
		s.t.Fatal(err)
	}
	ns.Start()
	s.t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(30 * time.Second) {
		s.t.Fatal("NATS is not ready")
	}
	return ns.ClientURL()
}

// configure writes the configuration of a role.
func (s *shared) configure(user, inbox string) (file string) {
	s.t.Helper()
	file = filepath.Join(s.dir, user+".yaml")
	text := fmt.Sprintf("nats: {url: %q, user: %s, password: secret, inbox_prefix: %s}\n%s", s.url, user, inbox, fleetConfig)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// A login is a connection in a role, and what it was refused.
type login struct {
	t *testing.T
	*nats.Conn
	js jetstream.JetStream

	mu      sync.Mutex
	refused []string
}

func (s *shared) login(user, inbox string) *login {
	s.t.Helper()
	l := &login{t: s.t}
	var err error
	l.Conn, err = nats.Connect(s.url, nats.UserInfo(user, "secret"), nats.CustomInboxPrefix(inbox),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.refused = append(l.refused, strings.ToLower(err.Error()))
		}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(l.Close)
	if l.js, err = jetstream.New(l.Conn); err != nil {
		s.t.Fatal(err)
	}
	return l
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (l *login) was(text string) bool {
	l.t.Helper()
	if err := l.FlushWithContext(within(l.t)); err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range append(l.refused, strings.ToLower(fmt.Sprint(l.LastError()))) {
		if strings.Contains(r, strings.ToLower(text)) {
			return true
		}
	}
	return false
}

// refuses checks that none of it is allowed; a subject after < is subscribed to.
func (l *login) refuses(subjects ...string) {
	l.t.Helper()
	for _, subject := range subjects {
		if to, ok := strings.CutPrefix(subject, "<"); ok {
			if _, err := l.SubscribeSync(to); err != nil {
				l.t.Fatal(err)
			}
			if !l.was(fmt.Sprintf("for Subscription to %q", to)) {
				l.t.Errorf("may subscribe to %s", to)
			}
			continue
		}
		if err := l.Publish(subject, []byte("{}")); err != nil {
			l.t.Fatal(err)
		}
		if !l.was(fmt.Sprintf("for Publish to %q", subject)) {
			l.t.Errorf("may publish on %s", subject)
		}
	}
}

func (l *login) refusedNothing() {
	l.t.Helper()
	if l.was("violation") {
		l.t.Errorf("refused: %q", l.refused)
	}
}

// What only hosts may do.
var ofHosts = []string{
	"agent.session.bank.x", "agent.snapshot.bank.x", "agent.events.bank.started", "agent.dead.bank", "agent.schedule.bank.x", "agent.due.bank",
	"$JS.API.STREAM.DELETE.AGENT_SESSIONS", "$JS.API.STREAM.UPDATE.AGENT_ROUTES", "$JS.API.STREAM.CREATE.AGENT_MINE", "$JS.API.STREAM.PURGE.AGENT_ROUTES",
	"$JS.API.STREAM.PURGE.AGENT_INBOUND", "$JS.API.STREAM.RESTORE.AGENT_SESSIONS", "$JS.API.STREAM.SNAPSHOT.AGENT_SESSIONS",
	"$JS.API.CONSUMER.UNPIN.AGENT_INBOUND.lane-0", "$JS.API.CONSUMER.MSG.NEXT.AGENT_INBOUND.lane-0", "$JS.API.CONSUMER.MSG.NEXT.AGENT_ROUTES.lane-0",
	"$JS.API.CONSUMER.RESET.AGENT_INBOUND.lane-0", "$JS.API.CONSUMER.DELETE.AGENT_INBOUND.lane-0", "$JS.API.CONSUMER.CREATE.AGENT_ROUTES.x.agent.route.bank",
	"$JS.API.CONSUMER.CREATE.AGENT_INBOUND.x.plugin.inbound.telegram", "$JS.API.CONSUMER.DURABLE.CREATE.AGENT_INBOUND.x", "$JS.ACK.AGENT_INBOUND.lane-0.1.1.1.1.0",
	"$JS.API.CONSUMER.MSG.NEXT.AGENT_OUTBOUND.plugin-web", "$KV.AGENT_LANES.x", "$KV.AGENT_SPEND.x", "plugin.outbound.telegram", "agent.stream.bank.x",
	"$SYS.REQ.SERVER.PING", "_INBOX_host.x", "<_INBOX.>", "<_INBOX_host.>", "<>", "<$KV.>", "<agent.session.>",
}

// What operators may do too, and programs and plugins may not.
var ofOperators = []string{
	"agenthost.approve", "agenthost.abort", "agenthost.reload", "agenthost.dead.purge", "agenthost.sessions.delete", "agent.route.ana",
	"$KV.AGENT_ALLOWED.x", "$KV.AGENT_WAITING.x", "$KV.AGENT_MEMORY.x", "$JS.API.STREAM.PURGE.AGENT_SESSIONS", "$JS.API.STREAM.MSG.DELETE.AGENT_DEAD",
}

// What would show the key by which hosts and commands sign.
var toTheKey = []string{
	"$JS.API.DIRECT.GET.KV_AGENT_LANES", "$JS.API.DIRECT.GET.KV_AGENT_LANES.$KV.AGENT_LANES.key.routes", "$JS.API.DIRECT.GET.KV_AGENT_LANES.$KV.AGENT_LANES.>",
	"$JS.API.DIRECT.GET.KV_AGENT_LANES.$KV.AGENT_LANES.*.routes", "$JS.API.STREAM.MSG.GET.KV_AGENT_LANES", "$JS.API.STREAM.SNAPSHOT.KV_AGENT_LANES",
	"$JS.API.CONSUMER.CREATE.KV_AGENT_LANES", "$JS.API.CONSUMER.CREATE.KV_AGENT_LANES.x", "$JS.API.CONSUMER.CREATE.KV_AGENT_LANES.x.$KV.AGENT_LANES.key.routes",
	"$JS.API.CONSUMER.CREATE.KV_AGENT_LANES.x.$KV.AGENT_LANES.>", "$JS.API.CONSUMER.DURABLE.CREATE.KV_AGENT_LANES.x", "$JS.API.CONSUMER.MSG.NEXT.KV_AGENT_LANES.x",
	"<$KV.AGENT_LANES.>", "<$KV.AGENT_LANES.key.routes>",
}

// What auditors may do too.
var ofReaders = []string{
	"$JS.API.STREAM.MSG.GET.AGENT_SESSIONS", "$JS.API.DIRECT.GET.AGENT_SESSIONS.agent.session.bank.x", "$JS.API.DIRECT.GET.AGENT_ROUTES",
	"$JS.API.CONSUMER.CREATE.AGENT_SESSIONS.x.agent.session.bank.x", "$JS.API.DIRECT.GET.KV_AGENT_ALLOWED", "$JS.API.STREAM.INFO.AGENT_SESSIONS",
	"<agent.events.>", "<agent.stream.*.*>",
}

// Each role does its whole job with what the command prints for it, and nothing
// beyond.
func TestRolesOnASharedNATS(t *testing.T) {
	t.Parallel()
	s := startShared(t)
	t.Run("plugin", s.plugin)
	t.Run("plugin of an instance", s.salesPlugin)
	t.Run("program", s.program)
	t.Run("cli", s.cli)
	t.Run("auditor", s.auditor)
	t.Run("caller", s.caller)
	t.Run("host", func(t *testing.T) {
		if err := s.host.Bus().NC.LastError(); err != nil {
			t.Error(err)
		}
	})
}

func (s *shared) plugin(t *testing.T) {
	l := s.login("telegram", "_INBOX_plugin_telegram")
	l.t = t
	ctx := within(t)
	live, err := l.SubscribeSync("plugin.outbound.telegram")
	if err != nil {
		t.Fatal(err)
	}
	outbound, err := l.js.Stream(ctx, bus.OutboundStream)
	if err != nil {
		t.Fatal(err)
	}
	cons, err := outbound.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "plugin-telegram", FilterSubject: "plugin.outbound.telegram", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.js.Publish(ctx, "plugin.inbound.telegram", []byte(`{"id":"1","from":"7","text":"hi"}`), jetstream.WithMsgID("telegram:7:1")); err != nil {
		t.Fatal(err)
	}
	m, err := cons.Next(jetstream.FetchMaxWait(20 * time.Second))
	if err != nil || !strings.Contains(string(m.Data()), `"text":"hi"`) {
		t.Fatalf("durable: got %v, %v", m, err)
	}
	if err := m.DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	if m, err := live.NextMsgWithContext(ctx); err != nil || !strings.Contains(string(m.Data), `"text":"hi"`) {
		t.Errorf("live: got %v, %v", m, err)
	}
	if _, err := l.js.AccountInfo(ctx); err != nil {
		t.Error(err)
	}
	files, err := l.js.ObjectStore(ctx, bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	film := bytes.Repeat([]byte("film"), 1<<20)
	if _, err := files.PutBytes(ctx, "film", film); err != nil {
		t.Fatal(err)
	}
	if got, err := files.GetBytes(ctx, "film"); err != nil || !bytes.Equal(got, film) {
		t.Errorf("got %d bytes of %d, %v", len(got), len(film), err)
	}
	l.refusedNothing()

	const create = "$JS.API.CONSUMER.CREATE.AGENT_OUTBOUND.plugin-telegram.plugin.outbound.telegram"
	for _, wider := range []string{
		`{"stream_name":"AGENT_OUTBOUND","config":{"name":"plugin-telegram","durable_name":"plugin-telegram","filter_subject":"plugin.outbound.>"}}`,
		`{"stream_name":"AGENT_OUTBOUND","config":{"name":"plugin-telegram","durable_name":"plugin-telegram","filter_subjects":["plugin.outbound.>"]}}`,
		`{"stream_name":"AGENT_OUTBOUND","config":{"name":"plugin-telegram","durable_name":"plugin-telegram"}}`,
		`{"stream_name":"AGENT_SESSIONS","config":{"name":"plugin-telegram","durable_name":"plugin-telegram","filter_subject":"plugin.outbound.telegram"}}`,
		`{"stream_name":"AGENT_OUTBOUND","config":{"name":"plugin-web","durable_name":"plugin-web","filter_subject":"plugin.outbound.telegram"}}`,
	} {
		if m, err := l.RequestWithContext(ctx, create, []byte(wider)); err != nil || !strings.Contains(string(m.Data), `"error"`) {
			t.Errorf("%s: got %v, %v, want an error", wider, m, err)
		}
	}
	l.takesNoOrders("plugin.inbound.telegram")
	l.refuses(ofHosts...)
	l.refuses(ofOperators...)
	l.refuses(toTheKey...)
	l.refuses(ofReaders...)
	l.refuses("agent.route.bank", "plugin.inbound.web", "plugin.inbound.telegram.sales", "<plugin.outbound.web>", "<plugin.outbound.>", "<plugin.inbound.telegram>",
		"$JS.API.CONSUMER.CREATE.AGENT_OUTBOUND", "$JS.API.CONSUMER.CREATE.AGENT_OUTBOUND.plugin-telegram", "$JS.API.CONSUMER.DURABLE.CREATE.AGENT_OUTBOUND.plugin-telegram",
		"$JS.API.CONSUMER.CREATE.AGENT_OUTBOUND.plugin-telegram.plugin.outbound.web", "$JS.API.CONSUMER.DELETE.AGENT_OUTBOUND.plugin-telegram",
		"$JS.API.DIRECT.GET.AGENT_OUTBOUND", "$JS.API.STREAM.MSG.GET.AGENT_OUTBOUND", "$JS.API.STREAM.PURGE.OBJ_AGENT_FILES", "agenthost.stream", "<_INBOX_plugin_telegram_sales.>")
}

// takesNoOrders checks that no header of a message on subject does more than the
// message.
func (l *login) takesNoOrders(subject string) {
	l.t.Helper()
	for header, value := range map[string]string{"Nats-Rollup": "all", "Nats-TTL": "1s", "Nats-Incr": "1"} {
		if strings.HasPrefix(subject, bus.RoutePrefix) && header == "Nats-TTL" {
			continue // a message that its sender lets expire
		}
		msg := nats.NewMsg(subject)
		msg.Header.Set(header, value)
		if ack, err := l.js.PublishMsg(within(l.t), msg); err == nil {
			l.t.Errorf("%s on %s: got %+v, want an error", header, subject, ack)
		}
	}
}

func (s *shared) salesPlugin(t *testing.T) {
	l := s.login("sales", "_INBOX_plugin_telegram_sales")
	l.t = t
	ctx := within(t)
	if _, err := l.js.Publish(ctx, "plugin.inbound.telegram.sales", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	cons, err := l.js.CreateOrUpdateConsumer(ctx, bus.OutboundStream, jetstream.ConsumerConfig{
		Durable: "plugin-telegram-sales", FilterSubject: "plugin.outbound.telegram.sales",
	})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := cons.Next(jetstream.FetchMaxWait(20 * time.Second)); err != nil || !strings.Contains(string(m.Data()), `"text":"hello"`) {
		t.Fatalf("got %v, %v", m, err)
	}
	l.refusedNothing()
	l.refuses("plugin.inbound.telegram", "$JS.API.CONSUMER.MSG.NEXT.AGENT_OUTBOUND.plugin-telegram", "<plugin.outbound.telegram>", "<_INBOX_plugin_telegram.>")
}

func (s *shared) program(t *testing.T) {
	l := s.login("program", "_INBOX_program_bank")
	l.t = t
	ctx := within(t)
	results, err := l.SubscribeSync(l.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.js.Publish(ctx, "agent.route.bank", fmt.Appendf(nil, `{"kind":"delegate","text":"count","reply_to":%q}`, results.Subject)); err != nil {
		t.Fatal(err)
	}
	if m, err := results.NextMsgWithContext(ctx); err != nil || !strings.Contains(string(m.Data), "count") {
		t.Errorf("result: got %v, %v", m, err)
	}
	l.refusedNothing()
	if routes, err := s.host.Bus().JS.Stream(ctx, bus.RoutesStream); err != nil {
		t.Error(err)
	} else if !routes.CachedInfo().Config.AllowMsgSchedules { // which allows the rest
		l.takesNoOrders("agent.route.bank")
	}
	l.refuses(ofHosts...)
	l.refuses(ofOperators...)
	l.refuses(toTheKey...)
	l.refuses(ofReaders...)
	l.refuses("plugin.inbound.telegram", "<plugin.outbound.telegram>", "<agent.route.bank>", "$JS.API.INFO", "$O.AGENT_FILES.M.x", "<_INBOX_cli.>")
}

func (s *shared) cli(t *testing.T) {
	file := s.configure("cli", "_INBOX_cli")
	run := func(want string, args ...string) {
		t.Helper()
		out, errs := call(t, cli.CodeDone, "", append(args, "-c", file)...)
		if !strings.Contains(out, want) || strings.Contains(errs, "ermission") {
			t.Errorf("%q: got %q, %q, want … %s …", args, out, errs, want)
		}
	}
	run("kiwi", "agents")
	run("hi", "send", "bank", "hi", "--session", "s", "--from", "me", "--wait")
	run("route/", "sessions", "ls", "bank")
	run("hi", "sessions", "show", "bank", "telegram/dm/7")
	run("", "dead", "ls")
	run("", "approvals", "ls")
	run("", "approvals", "allowed")
	run("", "schedules", "ls")
	run("", "memory", "ls")
	run("", "sessions", "fork", "bank", "telegram/dm/7", "--to", "telegram/dm/copy")
	for _, which := range [][]string{{"bank"}, {"--channel", "telegram"}, {"--all"}} {
		run("", append([]string{"pause"}, which...)...)
		run("", append([]string{"resume"}, which...)...)
	}
	for _, command := range []string{"fleet", "channels", "models ls", "pairings ls", "runs ls", "audit", "tokens ls", "dead retry --all", "sessions search hi"} {
		run("", strings.Fields(command)...)
	}
	run("deleted", "sessions", "delete", "bank", "telegram/dm/7", "--force")
	l := s.login("cli", "_INBOX_cli")
	l.t = t
	// Without a host it deletes sessions itself.
	sid := session.SID("bank", "telegram/dm/copy")
	if _, err := session.NewArchive(l.js).Delete(within(t), "bank", sid, true); err != nil {
		t.Errorf("delete a session: %v", err)
	}
	if _, err := records.NewReader(l.js).Entry(within(t), bus.RequestsBucket, "deleted.bank."+sid); err != nil {
		t.Errorf("the record of the deletion: %v", err)
	}
	run("inbound", "erase", "--peer", "telegram/7", "--force")
	run("nothing is kept of telegram/7", "erase", "--peer", "telegram/7", "--force")
	only := []string{"agent.session.bank.x", "agent.snapshot.bank.x"} // forks
	for _, subject := range ofHosts {
		if subject != only[0] && subject != only[1] {
			l.refuses(subject)
		}
	}
	l.refuses("plugin.outbound.web", "$JS.API.STREAM.PURGE.AGENT_DEAD", "$JS.API.STREAM.DELETE.AGENT_DEAD", "$JS.API.STREAM.PURGE.AGENT_INBOUND",
		"$JS.API.CONSUMER.MSG.NEXT.AGENT_OUTBOUND.plugin-telegram", "<_INBOX_auditor.>")
}

func (s *shared) auditor(t *testing.T) {
	file := s.configure("auditor", "_INBOX_auditor")
	dead, err := s.host.Bus().JS.Publish(within(t), bus.DeadSubject("bank"), []byte(`{"agent":"bank","reason":"full","subject":"agent.route.bank"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pause.NewStore(s.host.Bus().JS).Begin(within(t), pause.Pause{Target: pause.Target{Channel: "telegram"}, Reason: "the line is down"}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"agents", "fleet", "pause", "models ls", "pairings ls", "sessions ls bank", "sessions show bank telegram.sales/dm/anonymous", "sessions search hello",
		"dead ls", fmt.Sprint("dead show ", dead.Sequence), "approvals ls", "approvals allowed", "memory ls", "schedules ls", "scrub",
		"channels", "runs ls",
	} {
		out, errs := call(t, cli.CodeDone, "", append(strings.Fields(command), "-c", file)...)
		if strings.Contains(errs, "ermission") {
			t.Errorf("%q: %s", command, errs)
		}
		if command == "pause" && !strings.Contains(out+errs, "the line is down") {
			t.Errorf("pause: got %s, %s, want the pause", out, errs)
		}
	}
	l := s.login("auditor", "_INBOX_auditor")
	l.t = t
	events, err := l.SubscribeSync("agent.events.>")
	if err != nil {
		t.Fatal(err)
	}
	l.refusedNothing()
	_ = events.Unsubscribe()
	l.refuses(ofHosts...)
	l.refuses(ofOperators...)
	l.refuses(toTheKey...)
	l.refuses("agent.route.bank", "plugin.inbound.telegram", "$O.AGENT_FILES.M.x", "agenthost.stream", "$JS.API.STREAM.PURGE.OBJ_AGENT_FILES",
		"$JS.API.CONSUMER.CREATE.AGENT_OUTBOUND.x.plugin.outbound.web", "$JS.API.CONSUMER.MSG.NEXT.AGENT_OUTBOUND.plugin-telegram")
}

func (s *shared) caller(t *testing.T) {
	l := s.login("caller", "_INBOX_caller")
	l.t = t
	beats, err := l.SubscribeSync("agents.hb.*.*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"$SRV.PING.agents", "$SRV.INFO.agents", "agents.status.agenthost.default.bank"} {
		if msg, err := l.RequestWithContext(within(t), subject, nil); err != nil || msg.Header.Get("Nats-Service-Error-Code") != "" {
			t.Errorf("%s: got %v, %v", subject, msg, err)
		}
	}
	inbox := l.NewInbox()
	answers, err := l.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.PublishRequest("agents.prompt.agenthost.default.bank", inbox, []byte("hi")); err != nil {
		t.Fatal(err)
	}
	text := ""
	for {
		msg, err := answers.NextMsgWithContext(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(msg.Data) == 0 {
			break
		}
		text += string(msg.Data)
	}
	if !strings.Contains(text, `{"type":"response","data":"hi"}`) {
		t.Errorf("got %s", text)
	}
	l.refusedNothing()
	_ = beats.Unsubscribe()
	l.refuses(ofHosts...)
	l.refuses(ofOperators...)
	l.refuses(toTheKey...)
	l.refuses("agent.route.bank", "plugin.inbound.nats", "agents.hb.agenthost.default.bank", "<agents.prompt.>", "<agents.query.>", "<_INBOX_cli.>")
}

func TestNATSPermissionsUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{
		"":                            "--for is missing",
		"--for nobody":                `role "nobody": want host, cli, auditor`,
		"--for plugin:Web":            "want host, cli, auditor",
		"--for plugin:web.a.b":        "want host, cli, auditor",
		"--for program:*":             "want host, cli, auditor",
		"--for program:ana --streams": "--streams is for plugins",
	} {
		_, errs := call(t, cli.CodeUsage, "", append([]string{"nats-permissions"}, strings.Fields(args)...)...)
		contains(t, errs, want)
	}
}

// The claims are those that a user JWT has.
func TestNATSPermissionsAsClaims(t *testing.T) {
	t.Chdir(t.TempDir())
	out, _ := call(t, cli.CodeDone, "", "nats-permissions", "--for", "plugin:web", "--streams", "--jwt")
	var p struct {
		Pub, Sub struct{ Allow []string }
	}
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	pub, sub := strings.Join(p.Pub.Allow, " "), strings.Join(p.Sub.Allow, " ")
	contains(t, pub, "agenthost.stream")
	contains(t, pub, "CONSUMER.CREATE.AGENT_OUTBOUND.plugin-web.plugin.outbound.web ")
	contains(t, sub, "plugin.outbound.web ")
	contains(t, sub, "agent.stream.*.*")
	contains(t, sub, "_INBOX_plugin_web.>")
	out, _ = call(t, cli.CodeDone, "", "nats-permissions", "--for", "host", "--jwt")
	contains(t, out, `"resp"`)
}

// A fleet in a JetStream domain asks for it by other subjects.
func TestNATSPermissionsInADomain(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("agenthost.yaml", []byte("nats: {domain: edge}\n"+fleetConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		out, _ := call(t, cli.CodeDone, "", "nats-permissions", "--for", role)
		if strings.Contains(out, "$JS.API.") || role != "program:bank" && role != "caller" && !strings.Contains(out, "$JS.edge.API.") {
			t.Errorf("%s: %s", role, out)
		}
	}
}
