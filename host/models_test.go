package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/waittest"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const said = `data: {"choices":[{"delta":{"content":"fine"}}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`

// modelServer answers each call by f; the number of the call counts from 1.
func modelServer(t *testing.T, f func(w http.ResponseWriter, r *http.Request, n int)) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		n++
		call := n
		mu.Unlock()
		f(w, r, call)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func speaks(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, said)
}

func served(t *testing.T, srv *httptest.Server) *config.Config {
	t.Helper()
	cfg := demo(t)
	cfg.Models["echo"] = llm.Config{Provider: "openai", Model: "m", BaseURL: srv.URL, APIKey: "sk-the-key"}
	return cfg
}

func modelOf(t *testing.T, h *host.Host) client.ModelStatus {
	t.Helper()
	answer, _, _ := knock(t, h.Bus().NC, client.StatusSubject, "")
	s, err := client.ReadStatus([]byte(answer))
	if err != nil || len(s.Models) != 1 {
		t.Fatalf("status: %v, %s", err, answer)
	}
	return s.Models[0]
}

// A model that hangs is left for the next one after its timeout.
func TestHangingModelIsLeft(t *testing.T) {
	t.Parallel()
	srv := modelServer(t, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
	cfg := served(t, srv)
	main := cfg.Models["echo"]
	main.Timeouts.First = 100 * time.Millisecond
	cfg.Models["main"], cfg.Models["echo"] = main, llm.Config{Provider: "echo"}
	cfg.Agents[0].Model = agents.Names{"main", "echo"}
	h, _ := start(t, cfg)
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	if got := out()[0]; got.Text != "hi" {
		t.Errorf("got %+v, want the answer of the spare", got)
	}
}

// A hedged call asks the next model as well, and both are in the log.
func TestHedgedCall(t *testing.T) {
	t.Parallel()
	srv := modelServer(t, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
	cfg := served(t, srv)
	main := cfg.Models["echo"]
	main.Hedge, main.Price = 50*time.Millisecond, &llm.Price{Input: 1, Output: 1}
	cfg.Models["main"], cfg.Models["echo"] = main, llm.Config{Provider: "echo"}
	cfg.Agents[0].Model = agents.Names{"main", "echo"}
	h, _ := start(t, cfg)
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	if got := out()[0]; got.Text != "hi" {
		t.Errorf("got %+v, want the answer of the spare", got)
	}
	waittest.Until(t, "what the cancelled call may have cost is booked", func() bool {
		answer, _, _ := knock(t, h.Bus().NC, client.StatusSubject, "")
		s, err := client.ReadStatus([]byte(answer))
		return err == nil && len(s.Models) == 2 && s.Models[1].Name == "main" && s.Models[1].SpentToday > 0
	})
}

// Of several servers of one model the one that fails is avoided.
func TestServersOfOneModel(t *testing.T) {
	t.Parallel()
	srv := modelServer(t, func(w http.ResponseWriter, _ *http.Request, _ int) { speaks(w) })
	broken := modelServer(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n > 1 {
			t.Error("the server that fails is asked again")
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	cfg := served(t, srv)
	m := cfg.Models["echo"]
	m.BaseURLs = []string{broken.URL, srv.URL}
	cfg.Models["echo"] = m
	h, _ := start(t, cfg)
	for _, from := range []string{"ana", "bob", "eve"} {
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: from, Text: "hi"})
		if got := out()[0]; got.Text != "fine" {
			t.Errorf("got %+v", got)
		}
	}
	if s := modelOf(t, h); s.Breaker != llm.Closed || !s.Parked.IsZero() {
		t.Errorf("got %+v, want a model that is well", s)
	}
}

// A breaker shows in events, in the status and in the metrics, and is closed by
// hand.
func TestBreakerIsSeenAndSet(t *testing.T) {
	t.Parallel()
	srv := modelServer(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= 5 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		speaks(w)
	})
	h, _ := start(t, served(t, srv))
	nc := h.Bus().NC
	events, err := nc.SubscribeSync("agent.events.demo.breaker")
	if err != nil {
		t.Fatal(err)
	}
	out := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	out() // three failures; two more are the next one's, after which it waits
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "bob", Text: "hi"})
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	msg, err := events.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Agent, Kind, Entry, State string }
	if err := json.Unmarshal(msg.Data, &event); err != nil || event.Agent != "demo" || event.Entry != "echo" || event.State != "open" {
		t.Errorf("got %s, %v", msg.Data, err)
	}
	if m := modelOf(t, h); m.Breaker != llm.Open || m.Until.IsZero() || m.Name != "echo" || !strings.Contains(m.Away(), "many failures") {
		t.Errorf("got %+v", m)
	}
	if page := scrape(t, h); !strings.Contains(page, `agenthost_model_breaker_state{entry="echo",state="open"} 1`) {
		t.Errorf("got %s", page)
	}
	for _, wrong := range []string{`{`, `{"model":"echo"}`, `{"model":"echo","action":"close"}`, `{"model":"none","action":"trip"}`} {
		if _, code, _ := knock(t, nc, client.BreakerSubject, wrong); code != "400" && code != "404" {
			t.Errorf("%s: got %q", wrong, code)
		}
	}
	knock(t, nc, client.BreakerSubject, `{"model":"echo","action":"trip"}`)
	if m := modelOf(t, h); m.Breaker != llm.Tripped {
		t.Errorf("got %+v", m)
	}
	if answer, _, why := knock(t, nc, client.BreakerSubject, `{"model":"echo","action":"reset"}`); answer != `{"ok":true}` {
		t.Errorf("got %q, %s", answer, why)
	}
	if m := modelOf(t, h); m.Breaker != llm.Closed {
		t.Errorf("got %+v", m)
	}
	out()
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "eve", Text: "hi"})
	out()
	waittest.Until(t, "a good call is counted", func() bool {
		return strings.Contains(scrape(t, h), `agenthost_model_attempts_total{agent="demo",code="ok",model="m",provider="openai"}`)
	})
}

func scrape(t *testing.T, h *host.Host) string {
	t.Helper()
	res, err := http.Get("http://" + h.HTTP() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	return string(page)
}

func TestMetricsWantTheToken(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.HTTP.Token = "the-token-of-the-host"
	h, _ := start(t, cfg)
	for header, want := range map[string]int{
		"": 401, "Bearer wrong": 401, "the-token-of-the-host": 401, "Bearer the-token-of-the-host": 200,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.HTTP()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%q: got %d, want %d", header, res.StatusCode, want)
		}
	}
}

// A key that was replaced in its file is found when the old one is refused.
func TestKeyIsReadAgain(t *testing.T) {
	t.Parallel()
	srv := modelServer(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.Header.Get("Authorization") != "Bearer the-second-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		speaks(w)
	})
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("key", "the-first-key\n")
	write("agenthost.yaml", fmt.Sprintf(`
nats: {embedded: {store: data, listen: ""}}
http: {listen: ""}
models: {main: {provider: openai, model: m, base_url: %q, api_key: "${file:key}"}}
agents: [{id: demo, model: main, channels: [demo]}]
`, srv.URL))
	cfg, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := startWith(t, host.Options{Config: cfg, Path: dir})
	say := func() string {
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
		return out()[0].Text
	}
	if got := say(); got == "fine" {
		t.Error("answered with the first key")
	}
	write("key", "the-second-key\n")
	if got := say(); got != "fine" {
		t.Errorf("said %q with the second key", got)
	}
}

// Whatever a server does with a key, nobody reads it.
func TestKeysAreNowhere(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		t.Run(provider, func(t *testing.T) { t.Parallel(); keysAreNowhere(t, provider) })
	}
}

func keysAreNowhere(t *testing.T, provider string) {
	const key, other = "sk-planted-key-1234567890", "tok/planted+other-0987654321"
	answers := map[string]func(http.ResponseWriter){
		"json": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"wrong key %s, or %s","type":"%s","code":"%s"}}`, key, other, other, key)
		},
		"html": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "<html>%s %s</html>", key, other)
		},
		"garbage": func(w http.ResponseWriter) { fmt.Fprintf(w, "\xff%s\x00 %s", other, key) },
		"text": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "no %s and no %s", other, key)
		},
		"stream": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"%s %s\"}}\n\n", other, key)
		},
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/?key=tok%2Fplanted%2Bother-0987654321&"+key)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	}
	srv := modelServer(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key"))
		answers[strings.Split(r.URL.Path, "/")[1]](w)
	})
	cfg := demo(t)
	cfg.HTTP.Token = other
	cfg.Agents, cfg.Models = nil, map[string]llm.Config{}
	for name := range answers {
		cfg.Models[name] = llm.Config{Provider: provider, Model: "m", BaseURL: srv.URL + "/" + name, APIKey: key}
		cfg.Agents = append(cfg.Agents, config.Agent{Config: agents.Config{
			ID: name, Model: agents.Names{name}, Channels: []agents.Binding{{Channel: "demo"}},
		}})
	}
	log := &bustest.LogBuffer{}
	h := startWith(t, host.Options{Config: cfg, Log: zerolog.New(log).Level(zerolog.TraceLevel)})
	out := outbound(t, h.Bus().NC, len(answers))
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	for _, r := range out() {
		if r.Kind != "error" {
			t.Errorf("got %+v", r)
		}
	}
	if err := h.Bus().NC.Publish("plugin.inbound.demo", []byte("{")); err != nil { // a dead letter
		t.Fatal(err)
	}
	waittest.Until(t, "dead letters", func() bool { return stored(t, h, bus.DeadStream) > 0 })
	waittest.Until(t, "all acknowledged", func() bool {
		for name := range answers {
			if ackPending(t, h, name) > 0 {
				return false
			}
		}
		return true
	})
	seen := everything(t, h)
	seen["status"], _, _ = knock(t, h.Bus().NC, client.StatusSubject, "")
	seen["log"] = log.String()
	if !strings.Contains(seen["log"], "[secret]") && !strings.Contains(seen["log"], "[key]") {
		t.Error("no error of a server is in the log")
	}
	for name, text := range seen {
		for _, secret := range []string{key, other, "tok%2Fplanted", "cGxhbnRlZ"} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s has a key: …%s…", name, text[max(0, i-200):min(len(text), i+60)])
			}
		}
	}
}

// everything is what the streams hold, by their names.
func everything(t *testing.T, h *host.Host) map[string]string {
	t.Helper()
	all := map[string]string{}
	names := h.Bus().JS.StreamNames(t.Context())
	for name := range names.Name() {
		s, err := h.Bus().JS.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		state := s.CachedInfo().State
		for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
			msg, err := s.GetMsg(t.Context(), seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %v %s\n", msg.Subject, msg.Header, msg.Data)
		}
		all[name] = b.String()
	}
	if err := names.Err(); err != nil || len(all) < 5 {
		t.Fatalf("%d streams, %v", len(all), err)
	}
	return all
}
