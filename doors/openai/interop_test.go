//go:build interop

package openai_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agenthost/doors/doorstest"
)

// OpenAI's own client for JavaScript, unmodified. AGENTHOST_NPM is a folder in which it
// and node are installed.
func TestInteropOpenAIClient(t *testing.T) {
	dir := os.Getenv("AGENTHOST_NPM")
	if dir == "" {
		t.Fatal("AGENTHOST_NPM is not set: a folder with the npm packages openai and node")
	}
	h := doorstest.Serve(t, scripted(t, interopScript))
	proxy, sessions := failingOnce(t, h.HTTP())
	program, err := os.ReadFile("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	out := node(t, dir, string(program), "http://"+h.HTTP()+"/v1", proxy+"/v1")
	if n := strings.Count(out, "ok "); n != 11 {
		t.Errorf("%d checks passed", n)
	}
	t.Setenv("AGENTHOST_URL", "http://"+h.HTTP()+"/v1")
	for _, program := range fences(t, "js client.mjs") {
		if out := node(t, dir, program); out != "ana: hello\n" {
			t.Errorf("the program in the docs: got %q", out)
		}
	}
	if n := len(sessions()); n != 1 {
		t.Errorf("what was answered with 503 and made again had %d runs, want 1", n)
	}
}

// What the client makes of a token that is unknown, and of one that may only read: the
// errors of its own that stand for 401 and 403.
func TestInteropOpenAIClientWithoutAccess(t *testing.T) {
	dir := os.Getenv("AGENTHOST_NPM")
	if dir == "" {
		t.Fatal("AGENTHOST_NPM is not set: a folder with the npm packages openai and node")
	}
	h := doorstest.Start(t, tokens)
	program, err := os.ReadFile("testdata/access.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if out := node(t, dir, string(program), "http://"+h.HTTP()+"/v1", "look-secret"); out != "ok 401\nok 403\n" {
		t.Errorf("got %q", out)
	}
}

// node runs a program where the client is installed, and returns what it prints.
func node(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	file := filepath.Join(dir, "agenthost-openai.mjs")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "node_modules", ".bin", "node")
	if _, err := os.Stat(binary); err != nil {
		binary = "node"
	}
	out, err := exec.CommandContext(t.Context(), binary, append([]string{file}, args...)...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const interopScript = `
rules:
  - {is: "slow", delay: 9s, text: "late"}
  - {is: "story", delay: 20ms, chunks: ["Once ", "upon ", "a ", "time."]}
  - {is: "weather?", tool_calls: [{name: weather, args: {city: Oslo}}]}
  - {after_tool: weather, text: "weather: ${result}"}
  - {is: "broken", error: {status: 400, message: "this model is broken"}}
  - {text: "ana: ${text}", usage: {input: 3, output: 2}}
`

// failingOnce passes requests on, and says 503 in place of the first answer. It returns
// its address, and the sessions that the answers came from.
func failingOnce(t *testing.T, address string) (string, func() map[string]bool) {
	var mu sync.Mutex
	from, failed := map[string]bool{}, false
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.Rewrite, proxy.Director = func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = address
	}, nil
	proxy.ModifyResponse = func(res *http.Response) error {
		mu.Lock()
		defer mu.Unlock()
		if from[res.Header.Get("Agent-Session")] = true; !failed {
			failed = true
			res.StatusCode, res.Status = http.StatusServiceUnavailable, "503 Service Unavailable"
			res.Header.Set("Retry-After", "1")
		}
		return nil
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	return srv.URL, func() map[string]bool {
		mu.Lock()
		defer mu.Unlock()
		return from
	}
}
