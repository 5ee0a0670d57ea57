package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A reloadable is a host whose configuration the test writes.
type reloadable struct {
	*host.Host
	t    *testing.T
	path string
}

// startReloadable starts a host with the configuration in text, which says
// nothing of NATS and HTTP.
func startReloadable(t *testing.T, name, text string, change func(*config.Config)) *reloadable {
	t.Helper()
	r := &reloadable{t: t, path: filepath.Join(t.TempDir(), "agenthost.yaml")}
	scripts := map[string]string{
		"old.rules": `rules: [{when: slow, delay: 1s, text: old}, {text: old}]`,
		"new.rules": `rules: [{text: new}]`,
	}
	for file, script := range scripts {
		if err := os.WriteFile(filepath.Join(filepath.Dir(r.path), file), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.write(text)
	base := demo(t)
	if change != nil {
		change(base)
	}
	load := func() (*config.Config, error) {
		cfg, err := config.Load(r.path)
		if err == nil {
			cfg.NATS, cfg.HTTP = base.NATS, base.HTTP
		}
		return cfg, err
	}
	cfg, err := load()
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
	r.Host = startWith(t, host.Options{Config: cfg, Load: load, Name: name, Log: log})
	return r
}

func (r *reloadable) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// reload has the host read text.
func (r *reloadable) reload(text string) client.Reloaded {
	r.t.Helper()
	r.write(text)
	ctx, cancel := context.WithTimeout(r.t.Context(), waittest.Within)
	defer cancel()
	got := r.Reload(ctx, host.ByCommand)
	if got.Error != "" {
		r.t.Fatal(got.Error)
	}
	return got
}

func (r *reloadable) must(text string, changes ...string) {
	r.t.Helper()
	got := r.reload(text)
	if diff := cmp.Diff(append([]string{}, changes...), got.Changes); diff != "" || len(got.Refused) > 0 {
		r.t.Fatalf("refused %v, changes: %s", got.Refused, diff)
	}
}

const (
	oldModels = "models: {main: {provider: scripted, script: old.rules}}\n"
	newModels = "models: {main: {provider: scripted, script: new.rules}}\n"
)

// No message is lost and none answered twice; the next turn of every session
// goes by what is new.
func TestReloadWhileSessionsTalk(t *testing.T) {
	t.Parallel()
	const sessions, each = 50, 20
	ana := "agents: [{id: ana, channels: [web]}]\n"
	r := startReloadable(t, "", oldModels+ana, nil)
	nc := r.Bus().NC
	out := outbound(t, nc, sessions*each)
	for i := range each {
		for s := range sessions {
			publish(t, nc, "plugin.inbound.web", bus.Inbound{ID: fmt.Sprint(s, "-", i), From: fmt.Sprint("user", s), Text: "hi"})
		}
		if i == each/2 {
			r.must(newModels+ana, "model main: changed")
		}
	}
	answers := map[string]string{}
	for _, reply := range out() {
		if _, twice := answers[reply.InReplyTo]; twice {
			t.Errorf("%s was answered twice", reply.InReplyTo)
		}
		answers[reply.InReplyTo] = reply.Text
	}
	for s := range sessions {
		for i := range each {
			switch text := answers[fmt.Sprint(s, "-", i)]; {
			case text == "", i > each/2 && text != "new":
				t.Errorf("message %d of session %d: got %q", i, s, text)
			}
		}
	}
}

func running(t *testing.T, h *host.Host, agent string) bool {
	t.Helper()
	for _, a := range askStatus(t, h).Agents {
		if a.ID == agent {
			return a.Running > 0
		}
	}
	return false
}

func askStatus(t *testing.T, h *host.Host) client.Status {
	t.Helper()
	msg, err := h.Bus().NC.RequestWithContext(t.Context(), client.StatusSubject, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.ReadStatus(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A channel goes over to another agent while people write to it: each message
// is answered once, by the one or the other.
func TestReloadMovesAChannel(t *testing.T) {
	t.Parallel()
	agents := func(ana, bob string) string {
		return fmt.Sprintf("agents: [{id: ana, channels: [%s]}, {id: bob, channels: [%s]}]\n", ana, bob)
	}
	r := startReloadable(t, "", oldModels+agents("web", "tel"), nil)
	nc := r.Bus().NC
	const n = 600
	sub, err := nc.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		publish(t, nc, "plugin.inbound.web", bus.Inbound{ID: fmt.Sprint(i), From: fmt.Sprint("user", i%20), Text: "hi"})
		if i == n/2 {
			r.must(oldModels+agents("tel", "web"), "agent ana: changed", "agent bob: changed")
		}
		if i == 0 {
			next(t, sub)
			if err := sub.Unsubscribe(); err != nil {
				t.Fatal(err)
			}
		}
	}
	waittest.Until(t, "all answers", func() bool { return stored(t, r.Host, bus.OutboundStream) >= n })
	for _, agent := range []string{"ana", "bob"} {
		waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, r.Host, agent) == 0 })
	}
	by := map[string]string{}
	for _, reply := range published(t, r.Host) {
		if before := by[reply.InReplyTo]; before != "" && before != reply.Agent {
			t.Errorf("%s was answered by %s and %s", reply.InReplyTo, before, reply.Agent)
		}
		by[reply.InReplyTo] = reply.Agent
	}
	if by[fmt.Sprint(n-1)] != "bob" || by["0"] != "ana" {
		t.Errorf("the first was answered by %q, the last by %q", by["0"], by[fmt.Sprint(n-1)])
	}
	if got := stored(t, r.Host, bus.OutboundStream); got != n || len(by) != n {
		t.Errorf("got %d replies to %d messages, want %d", got, len(by), n)
	}
}

// A mistake changes nothing, and is told with its place wherever somebody looks.
func TestReloadRefusesAMistake(t *testing.T) {
	t.Parallel()
	good := oldModels + "agents: [{id: ana, channels: [web]}]\n"
	r := startReloadable(t, "", good, nil)
	events, err := r.Bus().NC.SubscribeSync("agent.events.ana.reload")
	if err == nil {
		err = events.AutoUnsubscribe(1)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		newModels + "agents: [{id: ana, channels: [web], model: nobody}]\n",
		newModels + "agents: [{id: ana, chanels: [web]}]\n",
		newModels + "agents: [\n",
		"models: {main: {provider: scripted, script: nowhere.rules}}\nagents: [{id: ana, channels: [web]}]\n",
		"",
	} {
		got := r.reload(bad)
		if len(got.Refused) == 0 || len(got.Changes) > 0 {
			t.Errorf("%q: got %+v", bad, got)
		}
		s := askStatus(t, r.Host)
		if s.State != "degraded" || !cmp.Equal(s.Refused, got.Refused) {
			t.Errorf("%q: the host is %s, and says %v", bad, s.State, s.Refused)
		}
	}
	if body := readyz(t, r.Host); body["status"] != "degraded" || !strings.HasPrefix(body["config"], "refused: ") {
		t.Errorf("readiness: %v", body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	msg, err := events.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Refused []string }
	if err := json.Unmarshal(msg.Data, &event); err != nil || len(event.Refused) != 1 || !strings.Contains(event.Refused[0], ":2:") {
		t.Errorf("event: got %s", msg.Data)
	}
	sub, err := r.Bus().NC.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, r.Bus().NC, "plugin.inbound.web", bus.Inbound{From: "eve", Text: "hi"})
	if reply := next(t, sub); reply.Text != "old" {
		t.Errorf("got %q, want the old model", reply.Text)
	}
	r.must(good)
	if s := askStatus(t, r.Host); s.State != "ready" {
		t.Errorf("the host is %s", s.State)
	}
}

func readyz(t *testing.T, h *host.Host) map[string]string {
	t.Helper()
	resp, err := http.Get("http://" + h.HTTP() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := map[string]any{}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for k, v := range body {
		words[k] = fmt.Sprint(v)
	}
	return words
}

// What a host has learnt about a model stays, unless the model is another.
func TestReloadKeepsGates(t *testing.T) {
	t.Parallel()
	models := func(price string) string {
		return "models: {main: {provider: echo}, spare: {provider: echo" + price + "}}\nagents: [{id: ana, channels: [web], model: [main, spare]}]\n"
	}
	r := startReloadable(t, "", models(""), nil)
	for _, model := range []string{"main", "spare"} {
		order := []byte(`{"model":"` + model + `","action":"trip"}`)
		if _, err := r.Bus().NC.RequestWithContext(t.Context(), client.BreakerSubject, order); err != nil {
			t.Fatal(err)
		}
	}
	r.must(models(", price: {input: 1, output: 2}"), "model spare: changed")
	var away []string
	for _, m := range askStatus(t, r.Host).Models {
		if m.Away() != "" {
			away = append(away, m.Name)
		}
	}
	if diff := cmp.Diff([]string{"main"}, away); diff != "" {
		t.Errorf("out of service: %s", diff)
	}
}

// While the hosts of a fleet have different configurations, what is for an agent
// that only one of them knows waits for it.
func TestRollingChange(t *testing.T) {
	t.Parallel()
	ana, both := "agents: [{id: ana, channels: [web]}]\n", "agents: [{id: ana, channels: [web]}, {id: twin, channels: [tel]}]\n"
	twin := twinOf("ana")
	both = strings.ReplaceAll(both, "twin", twin)
	blue := startReloadable(t, "blue", oldModels+ana, func(c *config.Config) {
		listen := "127.0.0.1:0"
		c.NATS.Embedded.Listen, c.NATS.Embedded.Anonymous = &listen, bus.AnonymousAll
	})
	nc := blue.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.>")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "eve", Text: "hi"}) // blue serves the lane
	next(t, sub)
	green := startReloadable(t, "green", oldModels+ana, func(c *config.Config) { c.NATS.URL = blue.URL() })
	green.must(oldModels+both, "agent "+twin+": added")
	publish(t, nc, "plugin.inbound.tel", bus.Inbound{ID: "early", From: "eve", Text: "hi"})
	publish(t, nc, "plugin.inbound.web", bus.Inbound{ID: "after", From: "eve", Text: "hi"})
	if reply := next(t, sub); reply.InReplyTo != "after" {
		t.Errorf("got %+v, want the answer to what ana was asked", reply)
	}
	blue.must(oldModels+both, "agent "+twin+": added")
	if reply := next(t, sub); reply.InReplyTo != "early" || reply.Agent != twin {
		t.Errorf("got %+v, want the answer of %s", reply, twin)
	}
}

// An agent joins another one on its channel and lane, on a host that does not
// serve the lane: the one that does hands out what it can, and the rest once it
// knows.
func TestRollingShare(t *testing.T) {
	t.Parallel()
	twin := twinOf("ana")
	ana := "agents: [{id: ana, channels: [web]}]\n"
	both := "agents: [{id: ana, channels: [web]}, {id: " + twin + ", channels: [web]}]\n"
	blue := startReloadable(t, "blue", oldModels+ana, func(c *config.Config) {
		listen := "127.0.0.1:0"
		c.NATS.Embedded.Listen, c.NATS.Embedded.Anonymous = &listen, bus.AnonymousAll
	})
	nc := blue.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "eve", Text: "hi"}) // blue serves the lane
	next(t, sub)
	green := startReloadable(t, "green", oldModels+ana, func(c *config.Config) { c.NATS.URL = blue.URL() })
	green.must(oldModels+both, "agent "+twin+": added")
	publish(t, nc, "plugin.inbound.web", bus.Inbound{ID: "early", From: "eve", Text: "hi"})
	if reply := next(t, sub); reply.InReplyTo != "early" || reply.Agent != "ana" {
		t.Errorf("got %+v, want the answer of ana", reply)
	}
	blue.must(oldModels+both, "agent "+twin+": added")
	if reply := next(t, sub); reply.InReplyTo != "early" || reply.Agent != twin {
		t.Errorf("got %+v, want the answer of %s", reply, twin)
	}
	waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, blue.Host, "ana") == 0 })
	if n := stored(t, blue.Host, bus.OutboundStream); n != 3 {
		t.Errorf("got %d replies, want 3", n)
	}
}

func rollingMove(t *testing.T, first string) {
	agents := func(ana, bob string) string {
		return fmt.Sprintf("%sagents: [{id: ana, channels: [%s]}, {id: bob, channels: [%s]}]\n", oldModels, ana, bob)
	}
	blue := startReloadable(t, "blue", oldModels+"agents: [{id: ana, channels: [web]}]\n", func(c *config.Config) {
		listen := "127.0.0.1:0"
		c.NATS.Embedded.Listen, c.NATS.Embedded.Anonymous = &listen, bus.AnonymousAll
	})
	nc := blue.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.>")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	say := func(channel string) {
		publish(t, nc, "plugin.inbound."+channel, bus.Inbound{ID: fmt.Sprint(n), From: fmt.Sprint("user", n%20), Text: "hi"})
		n++
	}
	say("web")
	next(t, sub) // blue serves the lane of ana
	green := startReloadable(t, "green", agents("web", "tel"), func(c *config.Config) { c.NATS.URL = blue.URL() })
	say("tel")
	next(t, sub) // green serves that of bob
	blue.must(agents("web", "tel"), "agent bob: added")
	hosts := []*reloadable{blue, green}
	if first == "green" {
		hosts = []*reloadable{green, blue}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				say("web")
			}
		}
	}()
	for _, h := range hosts {
		h.must(agents("tel", "web"), "agent ana: changed", "agent bob: changed")
	}
	close(stop)
	<-stopped
	say("web")
	waittest.Until(t, "all answered", func() bool { return stored(t, blue.Host, bus.OutboundStream) >= uint64(n) })
	for _, agent := range []string{"ana", "bob"} {
		waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, blue.Host, agent) == 0 })
	}
	by := map[string]string{}
	for _, reply := range published(t, blue.Host) {
		if before := by[reply.InReplyTo]; before != "" {
			t.Errorf("%s was answered by %s and %s", reply.InReplyTo, before, reply.Agent)
		}
		by[reply.InReplyTo] = reply.Agent
	}
	if len(by) != n || by["2"] != "ana" || by[fmt.Sprint(n-1)] != "bob" {
		t.Errorf("%d of %d were answered, the first by %q, the last by %q", len(by), n, by["2"], by[fmt.Sprint(n-1)])
	}
}

// The next turn of a session knows what a skill and a file with instructions say
// by then; that a file was only touched changes nothing.
func TestReloadFollowsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	skill := func(what string) string { return "---\nname: tea\ndescription: " + what + "\n---\nBoil.\n" }
	write("agenthost.yaml", "nats: {embedded: {listen: \"\", store: "+t.TempDir()+"}}\nhttp: {listen: \"\"}\n"+
		"models: {main: {provider: scripted, script: r.rules}}\n"+
		"agents: [{id: ana, channels: [web], skills: [tea], instruction_files: [ana.txt]}]\n")
	write("r.rules", `rules: [{text: "tea"}]`)
	write("ana.txt", "Be brief.")
	write("skills/tea/SKILL.md", skill("Makes tea."))
	cfg, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := startWith(t, host.Options{Config: cfg, Path: dir, Log: zerolog.Nop()})
	events, err := h.Bus().NC.SubscribeSync("agent.events.*.reload")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	changed := func(agent string) {
		t.Helper()
		for {
			msg, err := events.NextMsgWithContext(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var event struct {
				Agent, Change string
				Refused       []string
			}
			if err := json.Unmarshal(msg.Data, &event); err == nil && len(event.Refused) > 0 {
				continue
			} else if err != nil || event.Agent != agent || event.Change == "" {
				t.Errorf("got %s, want a change of %s", msg.Data, agent)
			}
			return
		}
	}
	ask := func() string {
		t.Helper()
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound.web", bus.Inbound{From: "eve", Text: "hi"})
		return out()[0].Text
	}
	write("skills/tea/SKILL.md", skill("Makes green tea."))
	changed("ana")
	write("ana.txt", "Be kind.")
	changed("ana")
	write("ana.txt", "Be kind.") // nothing
	if got := ask(); got != "tea" {
		t.Errorf("got %q, want what the script says", got)
	}
	write("r.rules", `rules: [{text: "cake"}]`)
	waittest.Until(t, "the new script", func() bool { return ask() == "cake" })
	write("r.rules", `rules: [{`) // the one before stays
	if got := h.Reload(ctx, host.ByCommand); len(got.Refused) == 0 {
		t.Errorf("got %+v, want the script refused", got)
	}
	if got := ask(); got != "cake" {
		t.Errorf("got %q with a broken script", got)
	}
	write("r.rules", `rules: [{text: "cake"}]`)
	write("agents/bob.md", "---\nchannels: [tel]\n---\nYou are Bob.\n")
	changed("bob")
	write("agents/bob.md", "---\nchannels: [tel]\n---\nYou are Robert.\n")
	changed("bob")
	if got := h.Reload(ctx, host.ByCommand); len(got.Changes) > 0 || len(got.Refused) > 0 {
		t.Errorf("got %+v, want nothing left", got)
	}
}

// Kubernetes mounts files as links into a folder that is itself a link, and swaps
// that one.
func TestReloadFollowsLinks(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), t.TempDir()
	version := func(name, agents string) {
		t.Helper()
		folder := filepath.Join(dir, name)
		text := "nats: {embedded: {listen: \"\", store: " + store + "}}\nhttp: {listen: \"\"}\n" +
			"models: {main: {provider: echo}}\nagents: [" + agents + "]\n"
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "agenthost.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", "{id: ana}")
	path := filepath.Join(dir, "agenthost.yaml")
	if err := os.Symlink(filepath.Join("..data", "agenthost.yaml"), path); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	h := startWith(t, host.Options{Config: cfg, Path: path, Log: zerolog.Nop()})
	events, err := h.Bus().NC.SubscribeSync("agent.events.bob.reload")
	if err != nil {
		t.Fatal(err)
	}
	version("..2", "{id: ana}, {id: bob}")
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	if _, err := events.NextMsgWithContext(ctx); err != nil {
		t.Error(err)
	}
}

// A teller says its name, and what it is told on its topic.
type teller struct {
	agents.Base
	name, topic string
	heard       chan string
}

func (p *teller) Decide(context.Context, agents.Turn) (agents.Answer, error) {
	return agents.Say(p.name), nil
}

func (p *teller) Topics() []string { return []string{p.topic} }

func (p *teller) OnEvent(_ context.Context, e agents.Event) error {
	p.heard <- p.name + " heard of " + e.Subject
	return nil
}

// An agent gets another behaviour, which hears of other topics; the one of an
// agent that is as before stays.
func TestReloadBehaviors(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 10)
	makes := func(name, topic string) agents.Factory {
		return func(agents.Env) (agents.Behavior, error) { return &teller{name: name, topic: topic, heard: heard}, nil }
	}
	cfg := behaving(t, agents.Config{ID: "ana", Behavior: "one"}, agents.Config{ID: "bob", Behavior: "one"})
	load := func() (*config.Config, error) {
		next := *cfg
		next.Agents = slices.Clone(cfg.Agents)
		next.Agents[0].Behavior = "two"
		return &next, nil
	}
	h := startWith(t, host.Options{Config: cfg, Load: load, Log: zerolog.Nop(), Behaviors: map[string]agents.Factory{
		"one": makes("one", "acme.one"), "two": makes("two", "acme.two"),
	}})
	nc := h.Bus().NC
	if got := h.Reload(t.Context(), host.ByCommand); !slices.Equal(got.Changes, []string{"agent ana: changed"}) {
		t.Fatalf("got %+v", got)
	}
	for agent, want := range map[string]string{"ana": "two", "bob": "one"} {
		sub, err := nc.SubscribeSync("plugin.outbound." + agent)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, nc, "plugin.inbound."+agent, bus.Inbound{From: "eve", Text: "hi"})
		if reply := next(t, sub); reply.Text != want {
			t.Errorf("%s says %q, want %q", agent, reply.Text, want)
		}
		if err := nc.Publish("acme."+want, nil); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != want+" heard of acme."+want {
			t.Errorf("%s: %s", agent, got)
		}
	}
	if len(heard) > 0 {
		t.Errorf("heard twice: %s", <-heard)
	}
}

// A hook, a heartbeat and a schedule count once they are configured.
func TestReloadHooksAndSchedules(t *testing.T) {
	t.Parallel()
	ana := "agents: [{id: ana, channels: [web]}]\n"
	r := startReloadable(t, "", oldModels+ana, nil)
	nc := r.Bus().NC
	if _, err := nc.Subscribe("acme.guard", func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"action":"abort","reason":"not today"}`))
	}); err != nil {
		t.Fatal(err)
	}
	sub, err := nc.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	beats, err := nc.SubscribeSync("agent.events.ana.heartbeat")
	if err != nil {
		t.Fatal(err)
	}
	guard := "hooks: [{on: before_message, subject: acme.guard}]\n"
	r.must(oldModels+ana+guard, "hooks: changed")
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "eve", Text: "hi"})
	if reply := next(t, sub); !strings.Contains(reply.Text, "not today") && (reply.Error == nil || !strings.Contains(reply.Error.Message, "not today")) {
		t.Errorf("got %+v, want the hook's word", reply)
	}
	r.must(oldModels+"agents: [{id: ana, channels: [web], heartbeat: {enabled: true, interval: 1s}}]\n", "agent ana: changed", "hooks: changed")
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "eve", Text: "hi"})
	if reply := next(t, sub); reply.Text != "old" {
		t.Errorf("got %+v, want an answer", reply)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	if _, err := beats.NextMsgWithContext(ctx); err != nil {
		t.Errorf("no heartbeat: %v", err)
	}
}

// twinOf names an agent of the same lane.
func twinOf(agent string) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("twin", i); laneOf(name, 4) == laneOf(agent, 4) {
			return name
		}
	}
}

// published are the replies in their stream.
func published(t *testing.T, h *host.Host) []bus.Outbound {
	t.Helper()
	c, err := h.Bus().JS.OrderedConsumer(t.Context(), bus.OutboundStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var list []bus.Outbound
	for range stored(t, h, bus.OutboundStream) {
		msg, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data(), &out); err != nil {
			t.Fatal(err)
		}
		list = append(list, out)
	}
	return list
}
