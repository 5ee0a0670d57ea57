package mcp_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agenthost/internal/mcpoauth"
	"agenthost/tools"
	"agenthost/tools/mcp"
)

// A guarded is an MCP server that wants a token, and the authorization server that
// gives it.
type guarded struct {
	t      *testing.T
	url    string
	folder string // of the tokens
	mcp    http.Handler

	mu       sync.Mutex
	deny     bool              // the person refuses
	resource string            // of the metadata; empty: the server
	methods  []string          // of PKCE
	clients  map[string]string // redirect address by client
	codes    map[string]string // PKCE challenge by code
	access   string            // the token that lets in; there is one at a time
	refresh  string            // the one that can be spent; empty: none
	refreshs int               // how many were spent
	last     int
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{t: t, mcp: handler(t), folder: t.TempDir(), clients: map[string]string{}, codes: map[string]string{}, methods: []string{"S256"}}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", g.serve)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		g.say(w, map[string]any{"resource": cmp.Or(g.resource, g.url+"/mcp"), "authorization_servers": []string{g.url}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		g.say(w, map[string]any{
			"issuer": g.url, "authorization_endpoint": g.url + "/authorize", "token_endpoint": g.url + "/token",
			"registration_endpoint": g.url + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": g.methods, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"},
		})
	})
	mux.HandleFunc("POST /register", g.register)
	mux.HandleFunc("GET /authorize", g.authorize)
	mux.HandleFunc("POST /token", g.token)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	g.url = srv.URL
	return g
}

func (g *guarded) config() tools.MCPConfig { return tools.MCPConfig{URL: g.url + "/mcp"} }

func (g *guarded) say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		g.t.Error(err)
	}
}

func (g *guarded) refuse(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"error":%q}`, code)
}

func (g *guarded) serve(w http.ResponseWriter, req *http.Request) {
	g.mu.Lock()
	welcome := g.access != "" && req.Header.Get("Authorization") == "Bearer "+g.access
	g.mu.Unlock()
	if !welcome {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.url+`/.well-known/oauth-protected-resource/mcp"`)
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	g.mcp.ServeHTTP(w, req)
}

func (g *guarded) register(w http.ResponseWriter, req *http.Request) {
	var wanted struct {
		RedirectURIs []string `json:"redirect_uris"`
	}
	if err := json.NewDecoder(req.Body).Decode(&wanted); err != nil || len(wanted.RedirectURIs) != 1 {
		g.t.Errorf("registration: %+v, %v", wanted, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	id := g.next("client")
	g.clients[id] = wanted.RedirectURIs[0]
	w.WriteHeader(http.StatusCreated)
	g.say(w, map[string]any{"client_id": id, "redirect_uris": wanted.RedirectURIs, "token_endpoint_auth_method": "none"})
}

func (g *guarded) next(what string) string {
	g.last++
	return fmt.Sprint(what, "-", g.last)
}

func (g *guarded) authorize(w http.ResponseWriter, req *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := req.URL.Query()
	back := g.clients[q.Get("client_id")]
	if back == "" || q.Get("redirect_uri") != back || q.Get("code_challenge_method") != "S256" || q.Get("resource") != g.url+"/mcp" {
		g.t.Errorf("authorization: %v", q)
	}
	answer := url.Values{"state": {q.Get("state")}}
	if g.deny {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "Not today.")
	} else {
		code := g.next("code")
		g.codes[code] = q.Get("code_challenge")
		answer.Set("code", code)
	}
	http.Redirect(w, req, back+"?"+answer.Encode(), http.StatusFound)
}

func (g *guarded) token(w http.ResponseWriter, req *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	req.ParseForm()
	switch form := req.PostForm; form.Get("grant_type") {
	case "authorization_code":
		proof := sha256.Sum256([]byte(form.Get("code_verifier")))
		if want := g.codes[form.Get("code")]; want == "" || want != base64.RawURLEncoding.EncodeToString(proof[:]) {
			g.refuse(w, "invalid_grant")
			return
		}
		delete(g.codes, form.Get("code"))
	case "refresh_token":
		if g.refresh == "" || form.Get("refresh_token") != g.refresh {
			g.refuse(w, "invalid_grant")
			return
		}
		g.refreshs++
	case "client_credentials":
		if form.Get("client_id") != "host" || form.Get("client_secret") != "s3cret" {
			g.refuse(w, "invalid_client")
			return
		}
	}
	g.access, g.refresh = g.next("access"), g.next("refresh")
	g.say(w, map[string]any{"access_token": g.access, "refresh_token": g.refresh, "token_type": "Bearer", "expires_in": 3600})
}

func (g *guarded) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// login is one by a person whose browser goes where it is sent.
func (g *guarded) login(before ...func(address string)) (file string, page string, err error) {
	g.t.Helper()
	var browser sync.WaitGroup
	file, err = mcpoauth.Login{Server: g.config(), Folder: g.folder, Show: func(address string) {
		for _, do := range before {
			do(address)
		}
		browser.Go(func() {
			resp, err := http.Get(address)
			if err != nil {
				g.t.Error(err)
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			page = string(text)
		})
	}}.Run(g.t.Context())
	browser.Wait()
	return file, page, err
}

func (g *guarded) open() *world {
	g.t.Helper()
	return openOne(g.t, g.config(), mcp.Options{Tokens: g.folder})
}

func TestLoginBringsATokenForTheServer(t *testing.T) {
	g := newGuarded(t)
	file, page, err := g.login()
	if err != nil || !strings.Contains(page, "logged in") {
		t.Fatalf("got %v, page %q", err, page)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(file) != g.folder {
		t.Errorf("token file %s: %v, %v", file, info, err)
	}
	w := g.open()
	if res := w.run("s.echo", `{"text":"hi"}`); res.Text != "hi" {
		t.Errorf("got %+v", res)
	}
	w.stop()
}

// A token is refreshed when it is not accepted any more, and what the refresh has
// brought is kept: it is mostly good for one use.
func TestRefusedTokenIsRefreshed(t *testing.T) {
	g := newGuarded(t)
	if _, _, err := g.login(); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		w := g.open()
		g.set(func() { g.access = "another" })
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if res, err := w.try("s.echo", `{"text":"hi"}`); err != nil || res.Text != "hi" {
					t.Errorf("got %+v, %v", res, err)
				}
			})
		}
		calls.Wait()
		w.stop()
		if g.refreshs != n {
			t.Errorf("%d refreshs, want %d", g.refreshs, n)
		}
	}
}

func TestServerWithoutALoginSaysHowToGetOne(t *testing.T) {
	g := newGuarded(t)
	w := g.open()
	if faults := w.client().Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "the server wants a login; run agenthost mcp login s") {
		t.Fatalf("faults: %v", faults)
	}
	if _, _, err := g.login(); err != nil {
		t.Fatal(err)
	}
	w.until("its tools", func() bool { return len(w.client().Tools()) > 0 }) // without a restart
	g.set(func() { g.access, g.refresh = "", "" })
	_, err := w.try("s.echo", `{"text":"hi"}`)
	want := `call echo of mcp server "s": refused: 401 Unauthorized: the server wants a login: its refresh token is not accepted any more; run agenthost mcp login s`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	w.stop()
}

func TestLoginThatFails(t *testing.T) {
	g := newGuarded(t)
	g.set(func() { g.deny = true })
	if _, page, err := g.login(); err == nil || err.Error() != "the login was refused: Not today." || !strings.Contains(page, "refused") {
		t.Errorf("got %v, page %q", err, page)
	}
	if left, _ := os.ReadDir(g.folder); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	open := overHTTP(t)
	_, err := mcpoauth.Login{Server: open, Folder: g.folder}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "wants no login") {
		t.Errorf("got %v", err)
	}
}

// The description of another resource, and a login without S256, are refused before a person
// is asked and before a client is registered.
func TestLoginThatIsNotSafe(t *testing.T) {
	for name, tt := range map[string]struct {
		resource string // %s: the address of the server
		methods  []string
		want     string // %s: the same
	}{
		"another machine":       {resource: "https://other.example.org/mcp", want: `%s/.well-known/oauth-protected-resource/mcp describes the resource "https://other.example.org/mcp", and this server is "%[1]s/mcp": `},
		"another path":          {resource: "%s/mcp2", want: `describes the resource "%s/mcp2", and this server is "%[1]s/mcp": `},
		"plain":                 {methods: []string{"plain"}, want: "%s/.well-known/oauth-authorization-server offers PKCE by plain alone, and MCP wants S256: "},
		"another port":          {resource: "http://127.0.0.1/mcp", want: `describes the resource "http://127.0.0.1/mcp"`},
		"a slash more":          {resource: "%s/mcp/"},
		"what the server is in": {resource: "%s"},
		"plain as well as S256": {methods: []string{"plain", "S256"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t)
			fill := func(text string) string {
				return strings.ReplaceAll(strings.ReplaceAll(text, "%[1]s", g.url), "%s", g.url)
			}
			g.set(func() {
				if g.resource = fill(tt.resource); tt.methods != nil {
					g.methods = tt.methods
				}
			})
			shown := false
			_, _, err := g.login(func(string) { shown = true })
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), fill(tt.want)) || shown || len(g.clients) > 0 {
				t.Errorf("got %v, want … %s; shown: %t, registered: %v", err, fill(tt.want), shown, g.clients)
			}
			if left, _ := os.ReadDir(g.folder); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// What comes to the callback from elsewhere neither ends the login nor is it.
func TestCallbackOfAnotherLogin(t *testing.T) {
	g := newGuarded(t)
	_, _, err := g.login(func(address string) {
		to, _ := url.Parse(address)
		for _, query := range []string{"?code=stolen&state=guessed", "?error=access_denied", "?code=stolen&state="} {
			resp, err := http.Get(to.Query().Get("redirect_uri") + query)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: got %s", query, resp.Status)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	cfg := g.config()
	cfg.OAuth = tools.OAuthConfig{Grant: tools.ClientCredentials, ClientID: "host", ClientSecret: "s3cret"}
	w := openOne(t, cfg, mcp.Options{})
	for range 2 {
		if res := w.run("s.echo", `{"text":"hi"}`); res.Text != "hi" {
			t.Errorf("got %+v", res)
		}
		g.set(func() { g.access = "another" })
	}
	w.stop()
	cfg.OAuth.ClientSecret = "wrong"
	w = openOne(t, cfg, mcp.Options{})
	if faults := w.client().Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "invalid_client") || strings.Contains(faults[0].Error(), "wrong") {
		t.Errorf("faults: %v", faults)
	}
}

// A token is for the server that it was got for.
func TestTokenOfAnotherServerIsNotSent(t *testing.T) {
	g, other := newGuarded(t), newGuarded(t)
	file, _, err := g.login()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, mcpoauth.File(g.folder, other.url+"/mcp")); err != nil {
		t.Fatal(err)
	}
	other.folder = g.folder
	other.set(func() { other.access = g.access })
	if faults := other.open().client().Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "is damaged or of another server; log in again") {
		t.Errorf("faults: %v", faults)
	}
}
