package doctor_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/config"
	"agenthost/hooks"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/doctor"
	"agenthost/internal/httpauth"
	"agenthost/internal/waittest"
	"agenthost/llm"
	"agenthost/tools"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

// planted is a key that must not be seen anywhere.
const planted = "sk-planted-0123456789"

// examine has the configuration looked at, and what was found in lines.
func examine(t *testing.T, d doctor.Doctor) (doctor.Report, []string) {
	t.Helper()
	r := d.Examine(t.Context())
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, strings.Join([]string{string(f.Verdict), f.Group, f.About, f.Text, "→ " + f.Cure}, " "))
		if (f.Cure == "") != (f.Verdict == doctor.VerdictOK) {
			t.Errorf("cure %q of %+v", f.Cure, f)
		}
	}
	if all := strings.Join(lines, "\n"); strings.Contains(all, planted) {
		t.Errorf("the key is seen: %s", all)
	}
	if r.OK+r.Warnings+r.Failures != len(r.Findings) {
		t.Errorf("counted %d, %d, %d of %d", r.OK, r.Warnings, r.Failures, len(r.Findings))
	}
	return r, lines
}

func wantLine(t *testing.T, lines []string, want string) {
	t.Helper()
	words := strings.Split(want, "…")
	if !slices.ContainsFunc(lines, func(l string) bool {
		for _, w := range words {
			_, after, found := strings.Cut(l, strings.TrimSpace(w))
			if !found {
				return false
			}
			l = after
		}
		return true
	}) {
		t.Errorf("want %s; got\n%s", want, strings.Join(lines, "\n"))
	}
}

func wantNoLine(t *testing.T, lines []string, text string) {
	t.Helper()
	for _, l := range lines {
		if strings.Contains(l, text) {
			t.Errorf("got %s", l)
		}
	}
}

func dial(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// patient is the configuration of one agent with a model.
func patient(t *testing.T, m llm.Config) *config.Config {
	t.Helper()
	cfg := hosttest.Demo(t)
	cfg.Models = map[string]llm.Config{"main": m}
	cfg.Agents[0].Model = agents.Names{"main"}
	return cfg
}

func answerWith(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// forKey answers only who has the key.
func forKey(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+planted {
			answerWith(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: `+r.Header.Get("Authorization")+`"}}`)(w, r)
			return
		}
		answerWith(http.StatusOK, body)(w, r)
	}
}

func TestDoctorOfModelServers(t *testing.T) {
	t.Parallel()
	const models = `{"object":"list","data":[{"id":"m-large"},{"id":"m:latest"},{"id":"m-small"}]}`
	tests := map[string]struct {
		handler http.HandlerFunc
		model   string
		key     string
		want    []string
	}{
		"well": {forKey(models), "m-small", planted, []string{
			"ok models main a key of 21 characters is set", "ok models main its server answers and accepts the key",
			"ok models main the server has m-small", "ok agents demo answered by main",
		}},
		"another name":     {answerWith(200, models), "m", "", []string{"ok models main no key", "ok models main the server has m "}},
		"a list for all":   {answerWith(200, models), "m", planted, []string{"ok models main … whether it accepts the key is unknown"}},
		"wrong key":        {forKey(models), "m", "sk-other-0123456789", []string{"fail models main … refuses the key: Incorrect", "fail agents demo none of its models"}},
		"no key":           {forKey(models), "m", "", []string{"fail models main … asks for a key: Incorrect … → set api_key"}},
		"wrong name":       {answerWith(200, models), "m-smal", "", []string{`fail models main the server has no model "m-smal" → set model to one that it has: m-small`}},
		"no models":        {answerWith(200, `{"object":"list","data":null}`), "m", "", []string{`warn models main whether the server has "m" is unknown`}},
		"HTML":             {answerWith(200, "<!DOCTYPE html><html>"), "m", "", []string{"fail models main … answers, but not as this API does → look at base_url"}},
		"another JSON":     {answerWith(200, `{"status":"ok"}`), "m", "", []string{"fail models main … answers, but not as this API does"}},
		"no list":          {answerWith(404, "404 page not found"), "m", "", []string{`warn models main whether … has "m" is unknown: it has no list of models (404)`}},
		"no such method":   {answerWith(405, "no"), "m", "", []string{`warn models main whether … has "m" is unknown: it has no list of models (405)`}},
		"no such thing":    {answerWith(501, "no"), "m", "", []string{`warn models main whether … has "m" is unknown: it has no list of models (501)`}},
		"moved":            {http.RedirectHandler("https://example.org/v1", http.StatusTemporaryRedirect).ServeHTTP, "m", "", []string{"warn models main … is elsewhere: … → set base_url to there"}},
		"trouble":          {answerWith(500, "oh"), "m", "", []string{"fail models main … answers with 500: oh"}},
		"too many calls":   {answerWith(429, "slow down"), "m", "", []string{"warn models main … had too many calls: slow down"}},
		"no payment":       {answerWith(402, "pay"), "m", planted, []string{"fail models main … refuses the key: pay"}},
		"elsewhere":        {http.RedirectHandler("https://u:p@example.org/v1?key=1", http.StatusFound).ServeHTTP, "m", "", []string{"fail models main … is elsewhere: it redirects to https://example.org/v1 →"}},
		"a quote of a key": {answerWith(500, "no "+planted), "m", planted, []string{"fail models main … answers with 500: no ["}},
		"forgotten /v1": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				answerWith(200, models)(w, r)
				return
			}
			http.NotFound(w, r)
		}, "m", "", []string{"fail models main … has no API at that address (404) → set base_url to … /v1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(tt.handler)
			defer srv.Close()
			_, lines := examine(t, doctor.Doctor{Config: patient(t, llm.Config{Provider: "openai", Model: tt.model, APIKey: tt.key, BaseURL: srv.URL})})
			for _, want := range tt.want {
				wantLine(t, lines, want)
			}
		})
	}
}

// What does not answer at all.
func TestDoctorOfUnreachableServers(t *testing.T) {
	t.Parallel()
	stall := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow := httptest.NewServer(http.HandlerFunc(stall))
	defer slow.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(stall))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the certificate that is refused
	secure.StartTLS()
	defer secure.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	tests := map[string]struct{ url, want string }{
		"slow":        {slow.URL, "fail models main … did not answer in time"},
		"certificate": {secure.URL, "fail models main … its certificate is not accepted"},
		"no TLS":      {strings.Replace(slow.URL, "http:", "https:", 1), "fail models main … does not speak TLS → write http://"},
		"gone":        {gone.URL, "fail models main nothing answers at http"},
		"no host":     {"http://nowhere.invalid", "fail models main … there is no such host"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			within := time.Minute
			if name == "slow" {
				within = 100 * time.Millisecond
			}
			_, lines := examine(t, doctor.Doctor{Config: patient(t, llm.Config{Provider: "openai", Model: "m", BaseURL: tt.url}), Within: within})
			wantLine(t, lines, tt.want)
		})
	}
}

// One of several servers that does not answer takes no time from the others.
func TestDoctorOfSeveralServers(t *testing.T) {
	t.Parallel()
	const models = `{"object":"list","data":[{"id":"m"}]}`
	asked := make(chan struct{}, 1)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-asked:
			answerWith(http.StatusInternalServerError, "oh")(w, r)
		case <-r.Context().Done():
		}
	}))
	defer first.Close()
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		answerWith(http.StatusOK, models)(w, r)
	}))
	defer second.Close()
	_, lines := examine(t, doctor.Doctor{Config: patient(t, llm.Config{Provider: "openai", Model: "m", APIKey: planted, BaseURLs: []string{first.URL, second.URL}})})
	wantLine(t, lines, "fail models main "+first.URL+" answers with 500: oh")
	wantLine(t, lines, "ok models main the server has m")
}

// A server that says nothing to who has no key has not said that it would refuse them.
func TestDoctorOfAKeyThatIsNotJudged(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+planted {
			answerWith(http.StatusOK, `{"object":"list","data":[{"id":"m"}]}`)(w, r)
			return
		}
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	d := doctor.Doctor{Config: patient(t, llm.Config{Provider: "openai", Model: "m", APIKey: planted, BaseURL: srv.URL})}
	var lines []string
	for _, f := range d.Examine(ctx).Findings {
		lines = append(lines, f.About+" "+f.Text)
	}
	wantLine(t, lines, "main its server answers; whether it accepts the key is unknown, as it has not answered without one")
}

func TestDoctorOfKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ provider, key, want string }{
		"none":        {"anthropic", "", `fail models main it has no key → set api_key, say to "${ANTHROPIC_API_KEY}"`},
		"placeholder": {"openai", "sk-...", "fail models main the key (6 characters) is what stands in examples"},
		"yours":       {"gemini", "your-api-key", "fail models main the key (12 characters) is what stands in examples"},
		"a blank":     {"openai", planted + "\n", "fail models main the key (22 characters) has blanks or a line's end around it"},
		"quotes":      {"openai", `"` + planted + `"`, "fail models main the key (23 characters) has quotes around it"},
		"bearer":      {"openai", "Bearer" + planted, `fail models main the key (27 characters) begins with "Bearer"`},
		"a variable":  {"openai", "$OPENAI_API_KEY", "fail models main the key (15 characters) is a variable that is not set"},
		"a good one":  {"openai", planted, "ok models main a key of 21 characters is set"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, lines := examine(t, doctor.Doctor{Config: patient(t, llm.Config{Provider: tt.provider, Model: "m", APIKey: tt.key}), Offline: true})
			wantLine(t, lines, tt.want)
		})
	}
}

// What stands in the wrong place may be a key.
func TestDoctorHidesKeys(t *testing.T) {
	t.Parallel()
	cfg := patient(t, llm.Config{Provider: "openai", Model: "m", APIKey: planted})
	cfg.Agents[0].Tools = []string{planted}
	_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, `warn agents demo there is no tool "`)
}

func TestDoctorOfSettings(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	cfg.Models = map[string]llm.Config{
		"main":  {Provider: "openai", Model: "gpt-5-mini", APIKey: planted, Rate: llm.Rate{Requests: 60, Concurrency: 4}},
		"wide":  {Provider: "openai", Model: "gpt-4o", APIKey: planted, Window: 1_000_000},
		"small": {Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1", Window: 128, MaxTokens: 4000},
		"own":   {Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1"},
		"lost":  {Provider: "scripted", Script: "nowhere.yaml"},
	}
	ana, ops := cfg.Agents[0], cfg.Agents[0]
	ana.Model, ana.Tools, ana.Delegates = agents.Names{"main", "lost"}, []string{"now", "delegate", "none", "wiki.*"}, []string{"ops"}
	ana.Heartbeat.Enabled, ana.Heartbeat.Prompt, ana.Heartbeat.Interval = true, "Look around.", time.Hour
	ops.ID, ops.Model, ops.Instructions, ops.Limits.Budget.Day = "ops", agents.Names{"own"}, "You are Ops.", 5
	cfg.Agents = []config.Agent{ana, ops}
	cfg.MCP = map[string]tools.MCPConfig{"wiki": {Command: []string{"no-such-program"}}, "go": {Command: []string{os.Args[0]}}}
	_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	for _, want := range []string{
		"ok models main window of 400000 tokens, as is known of it", "ok models main $0.25 in, $2 out", "ok models main at most 60 calls a minute, 4 at once",
		"warn models wide its window is set to 1000000 tokens, and it has 128000 as far as is known → set window to 128000",
		"warn models small its window is set to 128 tokens", "warn models small max_tokens (4000) leaves nothing",
		"warn models own its window is not known", "ok models own no price is known", "fail models lost … nowhere.yaml",
		"warn agents demo not all of its models can be used: lost", `warn agents demo there is no tool "none"`,
		"ok agents demo fixed prompt: … and what MCP servers and services bring", "warn agents demo it costs money and has no budget",
		"ok agents demo a heartbeat every 1h0m0s: 24 calls a day, with … tokens in and … out, for $",
		"ok agents ops fixed prompt: 12 bytes (about … tokens): host 0, instructions 12, tools 0",
		"warn agents ops its budget ($5.00 a day) does not count calls of own",
		`fail tools mcp.wiki "no-such-program" is no program`, "ok tools mcp.go its program is",
		"ok nats server embedded, without a port", "ok ports http.listen 127.0.0.1:0 is free", "ok data … can be written", "ok data … its disk has",
	} {
		wantLine(t, lines, want)
	}
	again, _ := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	first, _ := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	a, _ := json.Marshal(again)
	b, _ := json.Marshal(first)
	if string(a) != string(b) {
		t.Errorf("two looks differ:\n%s\n%s", a, b)
	}
}

// The host itself adds next to nothing to a prompt.
// The behaviour of a program need not ask a model.
func TestDoctorOfAnAgentWithoutAModel(t *testing.T) {
	t.Parallel()
	for _, models := range []string{"{}", "{one: {provider: echo}, two: {provider: echo}}"} {
		cfg, err := config.Parse("agenthost.yaml", []byte("models: "+models+"\nagents: [{id: bot, behavior: bot, channels: [web]}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, lines := examine(t, doctor.Doctor{Config: cfg, Path: "agenthost.yaml", Offline: true})
		wantLine(t, lines, `ok agents bot answered by its behavior "bot"`)
		if r.Failures > 0 {
			t.Errorf("%d failures in\n%s", r.Failures, strings.Join(lines, "\n"))
		}
	}
}

func TestSmallPrompts(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	cfg.Agents[0].Delegates = []string{"*"}
	r, _ := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	for _, f := range r.Findings {
		if f.Prompt != nil {
			if all := f.Prompt.Total(); all.Bytes >= 2048 || f.Prompt.Host.Bytes != 0 {
				t.Errorf("the prompt of an agent without tools and instructions is %+v", f.Prompt)
			}
			return
		}
	}
	t.Error("no prompt is measured")
}

// Offline, nobody is asked.
func TestDoctorOffline(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan struct{})
	go func() {
		defer close(called)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			t.Error("somebody was called")
		}
	}()
	address := l.Addr().String()
	cfg := patient(t, llm.Config{Provider: "openai", Model: "m", BaseURL: "http://" + address})
	cfg.Models["claude"] = llm.Config{Provider: "anthropic", Model: "m", BaseURL: "http://" + address}
	cfg.Models["gemini"] = llm.Config{Provider: "gemini", Model: "m", BaseURL: "http://" + address}
	cfg.MCP = map[string]tools.MCPConfig{"wiki": {URL: "http://" + address}}
	cfg.Services = map[string]tools.ServiceConfig{"billing": {}}
	cfg.HTTP.Listen = address
	cfg.NATS.Embedded.Listen = &address
	_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "warn ports nats.embedded.listen "+address+" is taken; offline it is not asked by which program")
	wantLine(t, lines, "warn ports http.listen "+address+" is taken")
	cfg.NATS = bus.Config{URL: "nats://me:" + planted + "@" + address, Embedded: bus.Embedded{Store: t.TempDir()}}
	_, lines = examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "ok nats server it is "+address+"; not asked")
	_ = l.Close()
	<-called
}

func TestDoctorOfNATS(t *testing.T) {
	t.Parallel()
	url, srv := bustest.Server(t)
	cfg := hosttest.Demo(t)
	cfg.NATS = bus.Config{URL: url, Embedded: bus.Embedded{Store: t.TempDir()}}
	cfg.Services = map[string]tools.ServiceConfig{"billing": {}}
	_, lines := examine(t, doctor.Doctor{Config: cfg})
	for _, want := range []string{
		"ok nats server NATS 2. … with JetStream; no host is running there", "ok nats streams not made yet; the first host makes them",
		"warn tools services.billing no instance of it answers",
	} {
		wantLine(t, lines, want)
	}

	js, err := jetstream.New(dial(t, url))
	if err != nil {
		t.Fatal(err)
	}
	bustest.MakeStream(t, js, jetstream.StreamConfig{Name: bus.DeadStream, Subjects: []string{"agent.dead.>"}, AllowDirect: true, Duplicates: bus.DedupeWindow})
	_, lines = examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "warn nats streams 19 of 20 are missing → restart a host")

	cfg.Services = map[string]tools.ServiceConfig{client.ServiceName: {}}
	served := *cfg // the host reads its own while the doctor's is changed
	h, stop := hosttest.Start(t, host.Options{Config: &served, Name: "kiwi", Log: hosttest.Log(t)})
	limit := jetstream.StreamConfig{Name: bus.DeadStream, Subjects: []string{"agent.dead.>"}, MaxMsgs: 7, AllowDirect: true, Duplicates: bus.DedupeWindow}
	if _, err := h.Bus().JS.UpdateStream(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	cfg.HTTP.Listen = h.HTTP()
	_, lines = examine(t, doctor.Doctor{Config: cfg})
	for _, want := range []string{
		"with JetStream; a host runs there: kiwi", "ok nats streams all 20 are there", "ok nats clock the server's agrees",
		"warn nats AGENT_DEAD has settings of its own, which stay: max_age 0s, max_msgs 7", "ok tools services.agenthost it answers",
		"ok ports http.listen … is held by a host",
	} {
		wantLine(t, lines, want)
	}
	pauseLanes(t, h.Bus().JS)
	_, lines = examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "fail nats AGENT_INBOUND lane-0… is paused for another … what comes for it waits → nats consumer resume AGENT_INBOUND lane-0")
	for _, name := range []string{"wall", "desk"} {
		if _, _, err := client.New(h.Bus().NC, h.Bus().JS, client.Options{}).AddToken(t.Context(), client.Token{Name: name, Role: "read"}); err != nil {
			t.Fatal(err)
		}
	}
	cfg.HTTP.Tokens = []httpauth.Token{{Name: "wall", Token: "secret", Role: httpauth.Read}}
	_, lines = examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "warn security token wall http.tokens has its name too, so hosts refuse the one that was made by command")
	wantNoLine(t, lines, "token desk")
	cfg.HTTP.Tokens = nil
	cfg.NATS.Lanes = 7
	_, lines = examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "fail nats AGENT_INBOUND … another number of lanes: 4, and nats.lanes says 7")
	stop()
	srv.Stop()
	_, lines = examine(t, doctor.Doctor{Config: cfg, Within: time.Second})
	wantLine(t, lines, "fail nats server connect to NATS at")
}

func pauseLanes(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	stream, err := js.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	for name := range stream.ConsumerNames(t.Context()).Name() {
		if _, err := stream.PauseConsumer(t.Context(), name, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDoctorOfNATSWithoutJetStream(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(o *server.Options) { o.JetStream = false })
	cfg := hosttest.Demo(t)
	cfg.NATS = bus.Config{URL: url, Embedded: bus.Embedded{Store: t.TempDir()}}
	_, lines := examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "fail nats server JetStream is not enabled")
}

func TestDoctorOfNATSWithSmallMessages(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(o *server.Options) { o.MaxPayload = 4096 })
	cfg := hosttest.Demo(t)
	cfg.NATS = bus.Config{URL: url, Embedded: bus.Embedded{Store: t.TempDir()}}
	_, lines := examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "fail nats server … → raise max_payload there")
}

func TestDoctorOfPorts(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(answerWith(200, "hello"))
	defer srv.Close()
	taken := strings.TrimPrefix(srv.URL, "http://")
	cfg := hosttest.Demo(t)
	cfg.HTTP.Listen, cfg.NATS.Embedded.Listen = taken, &taken
	_, lines := examine(t, doctor.Doctor{Config: cfg, Within: time.Second})
	wantLine(t, lines, "warn ports http.listen "+taken+" is taken by something else")
	wantLine(t, lines, "fail ports nats.embedded.listen "+taken+" is taken by something else")

	url, _ := bustest.Server(t)
	alone := strings.TrimPrefix(url, "nats://")
	cfg.NATS.Embedded.Listen = &alone
	_, lines = examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "fail ports nats.embedded.listen "+alone+" is held by a NATS server with no host → set nats.url")

	any := "127.0.0.1:0"
	cfg.NATS.Embedded.Listen = &any
	cfg.HTTP.Listen = "127.0.0.1:0"
	served := *cfg // the host reads its own while the doctor's is changed
	h, _ := hosttest.Start(t, host.Options{Config: &served, Log: hosttest.Log(t)})
	own := strings.TrimPrefix(h.URL(), "nats://")
	for _, listen := range []string{own, any} {
		cfg.NATS.Embedded.Listen = &listen
		r, lines := examine(t, doctor.Doctor{Config: cfg})
		wantLine(t, lines, "ok ports nats.embedded.listen "+own+" is held by the host ")
		if r.Failures > 0 {
			t.Errorf("a host that runs well has %d failures: %s", r.Failures, strings.Join(lines, "\n"))
		}
	}
}

func TestDoctorOfMCPServers(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusMethodNotAllowed: "ok tools mcp.wiki http://… answers",
		http.StatusUnauthorized:     "fail tools mcp.wiki http://… does not let us in (401)",
		http.StatusForbidden:        "fail tools mcp.wiki http://… does not let us in (403)",
		http.StatusFound:            "fail tools mcp.wiki http://… is not the address of an MCP server (302)",
		http.StatusNotFound:         "fail tools mcp.wiki http://… is not the address of an MCP server (404)",
		http.StatusBadGateway:       "warn tools mcp.wiki http://… answers with 502",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != planted {
				t.Error("no header")
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		cfg := hosttest.Demo(t)
		cfg.MCP = map[string]tools.MCPConfig{"wiki": {URL: srv.URL + "?key=" + planted, Headers: map[string]string{"Authorization": planted}}}
		_, lines := examine(t, doctor.Doctor{Config: cfg})
		wantLine(t, lines, want)
		srv.Close()
		_, lines = examine(t, doctor.Doctor{Config: cfg})
		wantLine(t, lines, "fail tools mcp.wiki nothing answers at http://")
	}
}

func TestDoctorOfTheConfiguration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agenthost.yaml")
	write := func(text string) doctor.Doctor {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path)
		return doctor.Doctor{Config: cfg, Fault: err, Path: path, Offline: true}
	}
	_, lines := examine(t, write("models: {main: {provider: openai, model: m, api_key: "+planted+"}}\nagents: [{id: ana}]\n"))
	wantLine(t, lines, "ok config "+path+" 1 agent, 1 model")
	wantLine(t, lines, "warn config … agenthost.yaml:1:54: api_key stands here as plain text")
	r, lines := examine(t, write("models: {main: {provider: opnai}}\nagent: []\n"))
	wantLine(t, lines, `fail config … agenthost.yaml:2:1: unknown key "agent"`)
	if r.Failures != 2 {
		t.Errorf("got %d failures", r.Failures)
	}
}

// A folder that cannot be made: a file is in the way.
func TestDoctorOfTheDataFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := hosttest.Demo(t)
	cfg.NATS.Embedded.Store = file
	_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "fail data "+file+" a host cannot write to it: not a directory")
	cfg.NATS.URL = "nats://127.0.0.1:1" // where all is kept
	_, lines = examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "warn data "+file+" a host cannot write to it: not a directory")
	cfg.NATS.URL = ""
	cfg.NATS.Embedded.Store = filepath.Join(t.TempDir(), "a", "b")
	_, lines = examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "can be created")
	if _, err := os.Stat(cfg.NATS.Embedded.Store); err == nil {
		t.Error("it was made")
	}
}

// Progress counts all checks, and an end of ctx ends them.
func TestDoctorProgress(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var seen []int
	d := doctor.Doctor{Config: patient(t, llm.Config{Provider: "openai", Model: "m", BaseURL: srv.URL}), Progress: func(done, total int) {
		if seen = append(seen, done); done == total-1 {
			cancel()
		}
	}}
	d.Examine(ctx)
	cancel()
	if !slices.IsSorted(seen) || seen[0] != 0 || len(seen) < 3 {
		t.Errorf("got %v", seen)
	}
}

func TestDoctorOfHardening(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "ok security hardening nothing to recommend")
	cfg.NATS = bus.Config{URL: "nats://host:" + planted + "@10.0.0.5:4222"}
	_, lines = examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "warn security nats.url everything that is said goes to another machine without encryption → write tls://")
	wantLine(t, lines, "warn security nats.inbox_prefix other users")
	wantNoLine(t, lines, "nothing to recommend")
}

// Of hooks it says whether somebody would answer, and calls none.
func TestDoctorOfHooks(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	url, _ := bustest.Server(t)
	cfg.NATS = bus.Config{URL: url}
	cfg.Hooks = []hooks.Config{
		{On: hooks.BeforeMessage, Subject: "acme.closed", Fail: hooks.FailClosed},
		{On: hooks.AfterMessage, Subject: "acme.open"},
		{On: hooks.BeforeToolCall, Subject: "acme.there"},
	}
	nc := dial(t, url)
	calls, err := nc.SubscribeSync("acme.there")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, lines := examine(t, doctor.Doctor{Config: cfg})
	wantLine(t, lines, "fail nats hook acme.closed it has no responder, and each before_message is refused")
	wantLine(t, lines, "warn nats hook acme.open it has no responder, and each after_message goes on")
	wantLine(t, lines, "ok nats hook acme.there it has a responder for before_tool_call")
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := calls.Pending(); n != 0 || err != nil {
		t.Errorf("the hook was called %d times, %v", n, err)
	}
}

// What a running host lacks of its tools is said by name.
func TestDoctorOfToolsThatAHostLacks(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	url, _ := bustest.Server(t)
	cfg.NATS = bus.Config{URL: url}
	cfg.Services = map[string]tools.ServiceConfig{"billing": {}}
	cfg.Agents[0].Tools = []string{"billing.*"}
	nc := dial(t, url)
	svc, err := micro.AddService(nc, micro.Config{Name: "billing", Version: "1.0.0"})
	if err == nil {
		err = svc.AddEndpoint("total", micro.HandlerFunc(func(micro.Request) {}), micro.WithEndpointSubject("agenthost.approve"))
	}
	if err != nil {
		t.Fatal(err)
	}
	h, _ := hosttest.Start(t, host.Options{Config: cfg, Log: hosttest.Log(t)})
	waittest.Until(t, "doctor says what the host lacks", func() bool {
		r := (&doctor.Doctor{Config: cfg}).Examine(t.Context())
		return slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
			return f.About == "host "+hostName(t, h) && f.Verdict == doctor.VerdictWarn && strings.Contains(f.Text, `"billing.total"`)
		})
	})
}

func hostName(t *testing.T, h *host.Host) string {
	t.Helper()
	answer, err := h.Bus().NC.RequestWithContext(t.Context(), client.StatusSubject, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.ReadStatus(answer.Data)
	if err != nil {
		t.Fatal(err)
	}
	return s.Host
}
