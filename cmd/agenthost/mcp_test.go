package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"agenthost/internal/cli"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMCPLoginRefusesWhatHasNoLogin(t *testing.T) {
	t.Chdir(t.TempDir())
	file := `models: {m: {provider: echo}}
agents: [{id: ana}]
mcp:
  files: {command: [files]}
  stock: {url: "http://127.0.0.1:1/mcp", oauth: {grant: client_credentials, client_id: a, client_secret: b}}
  wiki: {url: "http://127.0.0.1:1/mcp"}
`
	if err := os.WriteFile(cli.DefaultConfig, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"wikki": `mcp server "wikki" is not configured; there is files, stock, wiki`,
		"files": `mcp server "files" is a program; give it its keys by env, a login is for servers with a url`,
		"stock": `mcp server "stock" has client_credentials: the host gets its tokens by itself`,
		"wiki":  `log in to mcp server "wiki": Post "http://127.0.0.1:1/mcp": dial tcp 127.0.0.1:1: `,
	} {
		_, stderr := call(t, cli.CodeFailed, "", "mcp", "login", name, "--no-browser")
		contains(t, stderr, want)
	}
	_, stderr := call(t, cli.CodeUsage, "", "mcp", "login", "wiki", "--timeout", "0s")
	contains(t, stderr, "--timeout 0s: want more than 0")
}

const wikiToken = "t0ken"

// wiki is an MCP server with a tool, read, that wants a token, and the
// authorization server that gives one to every client.
func wiki(t *testing.T) (address string) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "wiki", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "read", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "all of it"}}}, nil, nil
		})
	tools := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	says := func(pattern, answer string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if pattern == "POST /register" {
				w.WriteHeader(http.StatusCreated)
			}
			_, _ = io.WriteString(w, strings.ReplaceAll(answer, "SITE", site.URL))
		})
	}
	says("/.well-known/oauth-protected-resource/mcp", `{"resource":"SITE/mcp","authorization_servers":["SITE"]}`)
	says("/.well-known/oauth-authorization-server", `{"issuer":"SITE","authorization_endpoint":"SITE/authorize","token_endpoint":"SITE/token",
		"registration_endpoint":"SITE/register","response_types_supported":["code"],"code_challenge_methods_supported":["S256"],
		"token_endpoint_auth_methods_supported":["none"]}`)
	says("POST /register", `{"client_id":"c","token_endpoint_auth_method":"none"}`)
	says("POST /token", `{"access_token":"`+wikiToken+`","refresh_token":"r","token_type":"Bearer","expires_in":3600}`)
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, req *http.Request) {
		back := url.Values{"code": {"x"}, "state": {req.FormValue("state")}}
		http.Redirect(w, req, req.FormValue("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer "+wikiToken {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+site.URL+`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, req)
	})
	return site.URL + "/mcp"
}

// A browser goes to the first address that a command prints.
type browser struct {
	said bytes.Buffer
	gone bool
	page string
	ways sync.WaitGroup
}

func (b *browser) Write(p []byte) (int, error) {
	n, err := b.said.Write(p)
	if address := regexp.MustCompile(`http://\S+\n`).FindString(b.said.String()); address != "" && !b.gone {
		b.gone = true
		b.ways.Go(func() {
			resp, err := http.Get(strings.TrimSpace(address))
			if err != nil {
				b.page = err.Error()
				return
			}
			defer func() { _ = resp.Body.Close() }()
			text, _ := io.ReadAll(resp.Body)
			b.page = string(text)
		})
	}
	return n, err
}

// After a login the hosts of this folder have the tools of the server, and nobody
// else can read the token.
func TestMCPLogin(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "rules.yaml", `rules: [{is: read, tool_calls: [{name: wiki.read, args: {}}]}, {after_tool: "*", text: "it says: ${result}"}]`)
	writeFile(t, cli.DefaultConfig, fmt.Sprintf(`nats: {embedded: {listen: "", store: kept}}
http: {listen: ""}
models: {m: {provider: scripted, script: rules.yaml}}
agents: [{id: ana, tools: ["wiki.*"]}]
mcp: {wiki: {url: %q, trust: true}}
`, wiki(t)))
	folder := filepath.Join("kept", "mcp")
	for _, flags := range [][]string{nil, {"--json"}} {
		var stdout bytes.Buffer
		b := &browser{}
		args := append([]string{"mcp", "login", "wiki", "--no-browser"}, flags...)
		if code := execute(t.Context(), args, strings.NewReader(""), &stdout, b); code != cli.CodeDone {
			t.Fatalf("exit code %d: %s", code, &b.said)
		}
		b.ways.Wait()
		contains(t, b.page, "You are logged in.")
		list, err := os.ReadDir(folder)
		if err != nil || len(list) != 1 {
			t.Fatalf("the folder of the host has %v, %v; want one token", list, err)
		}
		file := filepath.Join(folder, list[0].Name())
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("token file %s: mode %o, want 600", file, got)
		}
		want := "logged in to wiki; its token is in " + file + "\n"
		if flags != nil {
			want = fmt.Sprintf("{\n  \"server\": \"wiki\",\n  \"token_file\": %q\n}\n", file)
		}
		if got := stdout.String(); got != want || strings.Contains(got+b.said.String(), wikiToken) {
			t.Errorf("got %q and %q, want %q", got, b.said.String(), want)
		}
	}
	stdout, stderr := call(t, cli.CodeDone, "read\n", "chat")
	if stdout != "it says: all of it\n" || stderr != "" {
		t.Errorf("a host says %q, %q", stdout, stderr)
	}
}
