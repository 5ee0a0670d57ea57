package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/doors/doorstest"
	"agenthost/host"
	"agenthost/internal/waittest"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// hostVar has the test binary be a host with the configuration that it names.
const hostVar = "AGENTHOST_OPENAI_HOST"

func runHost(file string) {
	cfg, err := config.Load(file)
	if err == nil {
		err = host.New(host.Options{Config: cfg, Version: "0.1.0", Log: zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)}).Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A modelServer answers each call with what it was told, after a while, and counts.
type modelServer struct {
	mu    sync.Mutex
	calls map[string]int // by text
}

func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := call.Messages[len(call.Messages)-1].Content
	m.mu.Lock()
	m.calls[text]++
	m.mu.Unlock()
	select {
	case <-time.After(300 * time.Millisecond): // a model takes a while
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", "said "+text)
}

func (m *modelServer) asked() (all, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.calls {
		all, most = all+n, max(most, n)
	}
	return all, most
}

// Many requests at once, whole and streamed, the host killed in the middle: who asks
// again with the same key gets the one answer of the one run.
func TestHostKilledUnderRequests(t *testing.T) {
	t.Parallel()
	n := 100
	if os.Getenv("AGENTHOST_CHAOS") == "1" {
		n = 500
	}
	m := &modelServer{calls: map[string]int{}}
	srv := httptest.NewServer(m)
	defer srv.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "agenthost.yaml")
	text := fmt.Sprintf(`
nats: {embedded: {listen: "", store: %s}}
http: {listen: %q}
models: {main: {provider: openai, model: any, base_url: %q}}
agents: [{id: ana, model: main}]
`, filepath.Join(dir, "data"), address, srv.URL+"/v1")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kill := startHost(t, file)
	ctx := bustest.Context(t)
	var done atomic.Int32
	answers := make([]answer, n)
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() {
			answers[i] = insist(ctx, address, i)
			done.Add(1)
		})
	}
	waittest.Until(t, "some are answered, or at the model", func() bool { all, _ := m.asked(); return all > n/3 })
	kill()
	kill = startHost(t, file)
	clients.Wait()
	for i, first := range answers {
		want := fmt.Sprintf("said text %d", i)
		if first.Status != 200 {
			t.Fatalf("request %d: got %d %s", i, first.Status, first.Body)
		}
		got := any(first.streamed())
		if i%2 == 0 {
			got = first.content(t)
			if again := insist(ctx, address, i); again.Body != first.Body {
				t.Errorf("request %d again: got %s, first %s", i, again.Body, first.Body)
			}
		}
		if got != want {
			t.Errorf("request %d: got %v", i, got)
		}
	}
	all, most := m.asked()
	t.Logf("%d requests, %d model calls", n, all)
	if most > 2 { // once more for what the dead host had not written down
		t.Errorf("the model was asked %d times for one request", most)
	}
	kill()
	oneRunEach(t, file, answers)
}

// startHost runs a host as a process of its own until the returned function kills it.
func startHost(t *testing.T, file string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostVar+"="+file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	return kill
}

// insist makes a request until it is answered.
func insist(ctx context.Context, address string, i int) answer {
	body := chatOf(fmt.Sprintf("text %d", i))
	body["stream"] = i%2 == 1
	for {
		a, err := tryAt(ctx, address, "POST", chatPath, body, header{"Idempotency-Key": fmt.Sprintf("key %d", i)})
		if err == nil && a.Status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return a
		}
		select {
		case <-time.After(100 * time.Millisecond): // as a client does
		case <-ctx.Done():
		}
	}
}

// streamed is the text of an answer that came in pieces.
func (a answer) streamed() (text string) {
	for _, e := range a.events() {
		list, _ := e["choices"].([]any)
		for _, c := range list {
			choice, _ := c.(object)
			delta, _ := choice["delta"].(object)
			piece, _ := delta["content"].(string)
			text += piece
		}
	}
	return text
}

// oneRunEach reads the logs of the answers' sessions: each has one run, with one reply.
func oneRunEach(t *testing.T, file string, answers []answer) {
	t.Helper()
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	h := doorstest.Serve(t, cfg)
	if got := h.Inbound(t); got != uint64(len(answers)) {
		t.Errorf("%d messages are stored, want %d", got, len(answers))
	}
	for i, a := range answers {
		runs, replies := map[string]bool{}, 0
		for f, err := range h.Client.Sessions().History(t.Context(), "ana", sessionOf(t, h, a), 1) {
			if err != nil {
				t.Fatal(err)
			}
			switch f.Event.Type {
			case run.Started:
				runs[f.Event.Run] = true
			case run.Replied:
				replies++
			}
		}
		if len(runs) != 1 || replies != 1 {
			t.Errorf("session %d has %d runs with %d replies", i, len(runs), replies)
		}
	}
}
