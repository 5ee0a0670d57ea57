package mcpoauth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/tools"

	"golang.org/x/oauth2"
)

// An authorization server that does not answer holds no request longer than that wants to wait,
// and is asked once for all of them.
func TestSlowAuthorizationServer(t *testing.T) {
	for name, grant := range map[string]string{"login": "", "client credentials": tools.ClientCredentials} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			isAsked, answer := make(chan struct{}), make(chan struct{})
			mux := http.NewServeMux()
			srv := httptest.NewServer(mux)
			defer srv.Close()
			mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					close(isAsked)
				}
				<-answer
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"access_token": "new", "token_type": "Bearer", "expires_in": 3600}`))
			})
			for path, text := range map[string]string{
				"/.well-known/oauth-protected-resource":   `{"resource": "` + srv.URL + `/mcp", "authorization_servers": ["` + srv.URL + `"]}`,
				"/.well-known/oauth-authorization-server": `{"issuer": "` + srv.URL + `", "token_endpoint": "` + srv.URL + `/token", "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}`,
			} {
				mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(text))
				})
			}
			mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer new" {
					w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+srv.URL+`/.well-known/oauth-protected-resource"`)
					w.WriteHeader(http.StatusUnauthorized)
				}
			})
			cfg := tools.MCPConfig{URL: srv.URL + "/mcp"}
			if grant != "" {
				cfg.OAuth = tools.OAuthConfig{Grant: grant, ClientID: "id", ClientSecret: "secret"}
			}
			folder := t.TempDir()
			if err := save(folder, &Grant{Server: cfg.URL, TokenURL: srv.URL + "/token", Token: &oauth2.Token{
				AccessToken: "old", RefreshToken: "again", Expiry: time.Now().Add(-time.Hour),
			}}); err != nil {
				t.Fatal(err)
			}
			transport, err := NewTransport(srv.Client().Transport, cfg, folder)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(ctx context.Context) (int, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.URL, nil)
				if err != nil {
					return 0, err
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					return 0, err
				}
				return resp.StatusCode, resp.Body.Close()
			}
			ctx, cancel := context.WithCancel(t.Context())
			var requests sync.WaitGroup
			for range 3 {
				requests.Go(func() {
					if status, err := ask(ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("without a token: %d, %v", status, err)
					}
				})
			}
			<-isAsked
			cancel()
			requests.Wait() // while the server does not answer
			close(answer)
			if status, err := ask(t.Context()); err != nil || status != http.StatusOK {
				t.Errorf("with a token: %d, %v", status, err)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked for a token %d times", n)
			}
		})
	}
}
