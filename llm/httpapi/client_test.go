package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// TestRedirects follows a POST as far as its key may go.
func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the key went to another host")
	}))
	t.Cleanup(other.Close)
	tests := map[string]struct {
		to     string
		status int
		want   int
	}{
		"here":          {"/end", http.StatusTemporaryRedirect, http.StatusOK},
		"another host":  {other.URL, http.StatusTemporaryRedirect, http.StatusTemporaryRedirect},
		"as a GET":      {"/end", http.StatusFound, http.StatusFound},
		"round in ring": {"/", http.StatusPermanentRedirect, http.StatusPermanentRedirect},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/end" {
					http.Redirect(w, r, tt.to, tt.status)
				}
			}))
			defer server.Close()
			client := httpapi.Client(llm.Timeouts{}, nil)
			defer client.CloseIdleConnections()
			res, err := client.Post(server.URL, "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tt.want {
				t.Errorf("got status %d, want %d", res.StatusCode, tt.want)
			}
		})
	}
}

// A client that is told nothing leaves a server that does not finish a connection.
func TestConnectsWithinItsDefault(t *testing.T) {
	for _, tt := range []struct{ set, want time.Duration }{{0, 10 * time.Second}, {3 * time.Second, 3 * time.Second}} {
		transport, ok := httpapi.Client(llm.Timeouts{Connect: tt.set}, nil).Transport.(*http.Transport)
		if !ok {
			t.Fatal("it has another transport")
		}
		if got := transport.TLSHandshakeTimeout; got != tt.want {
			t.Errorf("connect %v: got %v, want %v", tt.set, got, tt.want)
		}
	}
}
