package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"agenthost/config"
	"agenthost/internal/cli"
)

// A fakeSite is Telegram, a homeserver and a server of models that take one secret.
func fakeSite(t *testing.T, secret string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/bot"+secret+"/getMe", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok":true,"result":{"id":1,"is_bot":true,"username":"sales_bot"}}`)
	})
	mux.HandleFunc("/_matrix/client/v3/login", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Password string }
		if json.NewDecoder(r.Body).Decode(&asked) != nil || asked.Password != secret {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errcode":"M_FORBIDDEN","error":"Invalid username or password"}`)
			return
		}
		_, _ = io.WriteString(w, `{"user_id":"@ana:test","access_token":"x","device_id":"d"}`)
	})
	mux.HandleFunc("/_matrix/client/v3/logout", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"llama3.2:3b"}]}`)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	return site.URL
}

// What flags name is tried and written; a secret goes to a file of its own.
func TestInitByFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	site := fakeSite(t, "1:s3cret")
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OLLAMA_HOST", site)
	if err := os.WriteFile("token.txt", []byte("1:s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := call(t, cli.CodeDone, "", "init", "--model", "ollama/llama3.2:3b",
		"--channel", "web", "--channel", "telegram.sales", "--set-file", "telegram.sales.token=token.txt", "--set", "telegram.sales.api="+site,
		"--channel", "matrix", "--set", "matrix.homeserver="+site, "--set", "matrix.user=@ana:test", "--set", "matrix.password=1:s3cret")
	for _, want := range []string{"telegram.sales: logged in as @sales_bot", "matrix.main: logged in as @ana:test", "model llama3.2:3b: the server answers"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q: %s", want, stderr)
		}
	}
	if !strings.Contains(stdout, "channels: web, telegram.sales, matrix.main\n") || !strings.Contains(stdout, "wrote 2 secrets below secrets, for you only\n") {
		t.Errorf("standard output: %s", stdout)
	}
	cfg, err := config.Load("agenthost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Plugins.Telegram["sales"].Token; got != "1:s3cret" {
		t.Errorf("the token is %q", got)
	}
	if text, _ := os.ReadFile("agenthost.yaml"); strings.Contains(string(text), "1:s3cret") {
		t.Errorf("the configuration has the secret:\n%s", text)
	}
	if info, err := os.Stat("secrets/matrix-main-password"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of a secret: %v, %v", info, err)
	}
}

func TestInitRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	site := fakeSite(t, "1:s3cret")
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OLLAMA_HOST", site)
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a channel that there is not":  {[]string{"--channel", "telegramm"}, cli.CodeUsage, "--channel telegramm: want web, telegram,"},
		"a channel twice":              {[]string{"--channel", "web", "--channel", "web"}, cli.CodeUsage, "--channel web is there twice"},
		"a bot without a token":        {[]string{"--channel", "telegram"}, cli.CodeUsage, "telegram.main wants --set telegram.main.token=…"},
		"a key that there is not":      {[]string{"--channel", "web", "--set", "web.token=x"}, cli.CodeUsage, "--set web.token: neither the model nor a --channel has that key"},
		"an empty value":               {[]string{"--set", "model.api_key="}, cli.CodeUsage, "--set model.api_key=: the value is empty, as that of a shell variable that is not set"},
		"a file of no name":            {[]string{"--set-file", "model.api_key="}, cli.CodeUsage, "--set-file model.api_key=: the name of the file is empty, as that of a shell variable that is not set"},
		"a file of no key":             {[]string{"--set-file", "model.api_key"}, cli.CodeUsage, "--set-file model.api_key: want key=file"},
		"an empty file":                {[]string{"--channel", "telegram", "--set-file", "telegram.token=" + os.DevNull}, cli.CodeFailed, "--set-file telegram.token: " + os.DevNull + " is empty"},
		"no value":                     {[]string{"--set", "model.api_key"}, cli.CodeUsage, "--set model.api_key: want key=value"},
		"a file that there is not":     {[]string{"--set-file", "model.api_key=none.txt"}, cli.CodeFailed, "--set-file model.api_key: open none.txt"},
		"a token that does not log in": {[]string{"--channel", "telegram", "--set", "telegram.token=1:wrong", "--set", "telegram.api=" + site}, cli.CodeFailed, "--no-check writes it all the same"},
		"a model that there is not":    {[]string{"--model", "ollama/llama3"}, cli.CodeFailed, `the server takes the key and has no such model`},
		"a provider that there is not": {[]string{"--model", "opnai/gpt"}, cli.CodeUsage, `agenthost: model gpt: provider "opnai": want openai,`},
		"a model without a provider":   {[]string{"--model", "gpt-5-mini"}, cli.CodeUsage, "--model gpt-5-mini: want provider/model, such as openai/gpt-5-mini"},
		"a provider without a model":   {[]string{"--model", "openai/"}, cli.CodeUsage, "--model openai/: want provider/model"},
		"a value that cannot be":       {[]string{"--channel", "irc", "--set", "irc.server=x:1", "--set", "irc.nick=a b"}, cli.CodeUsage, `agenthost: irc.main: nick "a b": want a nick`},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr := call(t, tt.code, "", append([]string{"init"}, tt.args...)...)
			if !strings.Contains(stderr, tt.want) {
				t.Errorf("want %s in\n%s", tt.want, stderr)
			}
			if _, err := os.Stat("agenthost.yaml"); err == nil {
				t.Error("a configuration was written")
			}
		})
	}
	call(t, cli.CodeDone, "", "init", "--channel", "telegram", "--set", "telegram.token=${TELEGRAM_TOKEN}", "--no-check")
	if text, _ := os.ReadFile("agenthost.yaml"); !strings.Contains(string(text), `token: "${TELEGRAM_TOKEN}"`) {
		t.Errorf("got\n%s", text)
	}
}

// A configuration that is a link is replaced where it leads, with the permissions that it has.
func TestInitThroughALink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine.yaml", []byte("mine: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("mine.yaml", cli.DefaultConfig); err != nil {
		t.Skip(err)
	}
	call(t, cli.CodeDone, "", "init", "--force", "--model", "echo")
	info, err := os.Lstat("mine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	link, err := os.Readlink(cli.DefaultConfig)
	text, _ := os.ReadFile("mine.yaml")
	if err != nil || link != "mine.yaml" || info.Mode().Perm() != 0o600 || !strings.Contains(string(text), "provider: echo") {
		t.Errorf("got a link to %q, %v, %v, %.40q", link, err, info.Mode(), text)
	}
}
