package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/internal/freeport"
)

// A receiver notes what is posted to it.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	posts  map[string]int // by webhook-id
	texts  []string
	answer func(n int) int // the status for the post of that number; nil: 200
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{posts: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var out struct{ Text string }
		if err := json.NewDecoder(req.Body).Decode(&out); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		id := req.Header.Get("webhook-id")
		if r.posts[id]++; r.posts[id] == 1 {
			r.texts = append(r.texts, out.Text)
		}
		if r.answer != nil {
			w.WriteHeader(r.answer(len(r.posts)))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) has(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.texts, text)
}

// most is how often the post that came most often did.
func (r *receiver) most() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.posts {
		n = max(n, times)
	}
	return n
}

func postHook(t *testing.T, url, id, text string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"from":"ana","text":%q}`, text)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer s3cret")
	req.Header.Set("Webhook-Id", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(resp.Body) // the host may be killed meanwhile
	return resp.StatusCode, strings.TrimSpace(string(answer))
}

// Accounts come and go with the file, and one that cannot be built leaves the rest.
func TestAccountsFollowTheFile(t *testing.T) {
	dir, address := t.TempDir(), freeport.Address(t)
	write := func(plugins string) {
		writeFile(t, filepath.Join(dir, "agenthost.yaml"), fmt.Sprintf(
			"http: {listen: %q}\nnats: {embedded: {listen: ''}}\nmodels: {main: {provider: echo}}\nagents: [{id: ana, channels: [{channel: webhook, instance: '*'}, bot]}]\nplugins: %s\n", address, plugins))
	}
	hook := func(path string) int {
		code, _ := postHook(t, "http://"+address+"/hooks/"+path, path, "hi")
		return code
	}
	write(`{webhook: {a: {secret: s3cret, scheme: token}}}`)
	startHostIn(t, dir, nil)
	bustest.Eventually(t, "the host follows its file", func() bool {
		resp, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if code := hook("a"); code != http.StatusAccepted {
		t.Errorf("the account: got %d", code)
	}
	for _, path := range []string{"b", "a/", "a/x", "%61"} {
		if code := hook(path); code != http.StatusNotFound {
			t.Errorf("%s, an unknown path: got %d", path, code)
		}
	}
	write(`{webhook: {b: {secret: s3cret, scheme: token}}, exec: {bot: {command: [/no/such/program]}}}`)
	bustest.Eventually(t, "the other account", func() bool { return hook("b") == http.StatusAccepted && hook("a") == http.StatusNotFound })
	bustest.Eventually(t, "readiness is degraded", func() bool {
		resp, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(body), `"status":"degraded"`) && strings.Contains(string(body), "/no/such/program")
	})
	write(`{webhook: {b: {secret: changed, scheme: token}}}`)
	bustest.Eventually(t, "another secret", func() bool { return hook("b") == http.StatusUnauthorized })
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
