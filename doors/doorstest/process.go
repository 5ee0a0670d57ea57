package doorstest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/freeport"

	"github.com/rs/zerolog"
)

// processVar has the test binary be a host with the configuration that it names; lifeVar
// is the number of its life, which it tells the model as its key.
const (
	processVar = "AGENTHOST_DOORSTEST_HOST"
	lifeVar    = "AGENTHOST_DOORSTEST_LIFE"
)

// Main is the TestMain of packages with a Process.
func Main(m *testing.M) {
	host.Begin()
	if file := os.Getenv(processVar); file != "" {
		cfg, err := config.Load(file)
		if err == nil {
			err = host.New(host.Options{Config: cfg, Version: "0.1.0", Log: zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)}).Run(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bustest.TempInMemory()
	bustest.ManyAtOnce()
	m.Run()
}

// A Process is a host in a process of its own, with the agent ana, whose model counts
// what it is asked.
type Process struct {
	HTTP  string // host:port
	NATS  string // the same of its server, where everybody may do all
	File  string // its configuration
	Model *Model

	t     testing.TB
	cmd   *exec.Cmd
	lives int // that have begun
}

// StartProcess starts one, which is killed when the test ends.
func StartProcess(t testing.TB) *Process {
	t.Helper()
	dir := t.TempDir()
	p := &Process{t: t, HTTP: freeport.Address(t), NATS: freeport.Address(t), File: filepath.Join(dir, "agenthost.yaml"), Model: &Model{calls: map[string]int{}, lives: map[string]int{}}}
	srv := httptest.NewServer(p.Model)
	t.Cleanup(srv.Close)
	text := fmt.Sprintf(`
nats: {embedded: {listen: %q, anonymous: all, store: %s}}
http: {listen: %q}
models: {main: {provider: openai, model: any, base_url: %q, api_key: "${%s:-none}"}}
agents: [{id: ana, model: main}]
`, p.NATS, filepath.Join(dir, "data"), p.HTTP, srv.URL+"/v1", lifeVar)
	if err := os.WriteFile(p.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	p.Start()
	return p
}

// Start begins a life.
func (p *Process) Start() {
	p.lives++
	p.cmd = exec.Command(os.Args[0]) //nolint:noctx // Kill ends it
	p.cmd.Env = append(os.Environ(), processVar+"="+p.File, lifeVar+"="+strconv.Itoa(p.lives))
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// Ready waits until it is.
func (p *Process) Ready() {
	p.t.Helper()
	bustest.Eventually(p.t, "the host is ready", func() bool {
		r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.HTTP+"/readyz", nil)
		if err != nil {
			return false
		}
		res, err := http.DefaultClient.Do(r)
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}

// Kill ends a life as kill -9 does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// A Model answers each call with what it was told, after a while, and counts.
type Model struct {
	mu    sync.Mutex
	calls map[string]int // by text
	lives map[string]int // by what it is asked with
}

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil || len(call.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	text := call.Messages[len(call.Messages)-1].Content
	m.mu.Lock()
	m.calls[text]++
	m.lives[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]++
	m.mu.Unlock()
	select {
	case <-time.After(300 * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	data, _ := json.Marshal("said " + text) // a text always is
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", strings.TrimSpace(string(data)))
}

// Asked is how often it was asked, and how often at most for one text.
func (m *Model) Asked() (all, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.calls {
		all, most = all+n, max(most, n)
	}
	return all, most
}

// AskedIn is how often it was asked in a life of the host. What a killed host has asked
// may arrive after its end, and counts for its life.
func (m *Model) AskedIn(life int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lives[strconv.Itoa(life)]
}

// Context ends long after Many requests are answered, on a machine that others use too.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Many is how many requests at once a test makes.
func Many() int {
	if os.Getenv("AGENTHOST_CHAOS") == "1" {
		return 500
	}
	return 100
}
