package host_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// A web page cannot read along by a name of its own that leads to the loopback
// address.
func TestHTTPOnLoopbackIsForThisMachine(t *testing.T) {
	t.Parallel()
	open, _ := start(t, demo(t))
	cfg := demo(t)
	cfg.HTTP.Token = "secret"
	guarded, _ := start(t, cfg)
	for _, path := range []string{"/metrics", "/readyz", "/healthz", "/", "/chat"} {
		for name, allowed := range map[string]bool{
			"localhost": true, "LocalHost:8080": true, "127.0.0.1:8080": true, "127.8.9.1": true, "[::1]:8080": true, "[::1]": true,
			"rebound.example": false, "rebound.example:8080": false, "127.0.0.1.rebound.example": false, "localhost.rebound.example": false, "10.0.0.1:8080": false,
		} {
			if code := getAs(t, open.HTTP(), path, name); (code != http.StatusForbidden) != allowed {
				t.Errorf("%s as %s: got %d", path, name, code)
			}
		}
		if code := getAs(t, guarded.HTTP(), path, "proxy.example"); code == http.StatusForbidden {
			t.Errorf("%s by a proxy, with a token: got %d", path, code)
		}
	}
}

func getAs(t *testing.T, address, path, name string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = name
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestIndexSaysWhatIsServed(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	get := func(path string) (int, map[string]any) {
		t.Helper()
		res, err := http.Get("http://" + h.HTTP() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var body map[string]any
		_ = json.NewDecoder(res.Body).Decode(&body) // metrics are no JSON
		return res.StatusCode, body
	}
	code, body := get("/")
	paths, _ := body["paths"].(map[string]any)
	if code != http.StatusOK || body["service"] != "agenthost" || len(paths) < 3 {
		t.Fatalf("got %d %v", code, body)
	}
	for path := range paths {
		if code, _ := get(path); code != http.StatusOK {
			t.Errorf("%s: got %d", path, code)
		}
	}
	// what each door says of itself, where it says it
	for door, path := range map[string]string{"/v1": "/v1/models", "/mcp": "/mcp", "/a2a/{agent}": "/a2a/demo/.well-known/agent-card.json", "/api": "/api/openapi.json"} {
		about, _ := body["doors"].(map[string]any)[door].(string)
		if code, _ := get(path); about == "" || code == http.StatusNotFound {
			t.Errorf("the door %s: got %q, and %d for %s", door, about, code, path)
		}
	}
	if doors, _ := body["doors"].(map[string]any); len(doors) != 4 {
		t.Errorf("got doors %v", doors)
	}
	if code, _ := get("/nothing"); code != http.StatusNotFound {
		t.Errorf("a path that is not there: got %d", code)
	}
}
