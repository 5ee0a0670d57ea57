package host_test

import (
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
