//go:build interop

package console_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/httpauth"
	"agenthost/internal/interop"
	"agenthost/llm"
	"agenthost/plugins/settings"
	"agenthost/tools"
)

const script = `
rules:
  - when: slow story
    delay: 500ms
    chunks: ["Once upon a time ", "there was a **small host**. ", "It kept ", "every message. ", "Even when ", "the power went, ", "nothing was lost. ", "The end."]
  - when: refund
    tool_calls: [{name: refund, args: {order: "A-1042", amount: "49.00 EUR"}}]
    usage: {input: 900, output: 40}
  - after_tool: refund
    text: "Done. ${result}"
  - when: breaks
    error: {status: 400, message: "this model is broken"}
  - text: "You said: ${text}"
    usage: {input: 420, output: 12}
`

type refundArgs struct {
	Order  string `json:"order"`
	Amount string `json:"amount"`
}

func refund(_ context.Context, _ tools.Call, in refundArgs) (string, error) {
	return "Order " + in.Order + " is refunded: " + in.Amount + ".", nil
}

// serve starts a host with two agents and two models, and returns its address.
func serve(t *testing.T, change ...func(*config.Config)) (base string, h *host.Host) {
	t.Helper()
	return serveAs(t, "", change...)
}

// serveAs is serve for a host with a name.
func serveAs(t *testing.T, name string, change ...func(*config.Config)) (base string, h *host.Host) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := hosttest.Demo(t)
	cfg.Models["echo"] = llm.Config{Provider: "scripted", Script: path}
	cfg.Models["other"] = llm.Config{Provider: "echo"}
	a := &cfg.Agents[0]
	a.ID, a.Description, a.Model = "ana", "Answers questions about orders.", []string{"echo"}
	a.Instructions = "You answer customers."
	a.Tools, a.Permissions = []string{"refund", "now"}, map[string]string{"refund": "ask"}
	second := *a
	second.ID, second.Description = "bob", "Knows everything about deliveries."
	second.Channels = nil
	cfg.Agents = append(cfg.Agents, second)
	for _, c := range change {
		c(cfg)
	}
	h, _ = hosttest.Start(t, host.Options{Name: name, Config: cfg, Log: hosttest.Log(t), Tools: []tools.Tool{
		tools.Typed(tools.Tool{Name: "refund", Description: "Pays money back."}, refund),
	}})
	return "http://" + h.HTTP(), h
}

// Every page opens, is usable by all, and says nothing on the browser's console.
func TestPagesInChromium(t *testing.T) {
	base, _ := serve(t)
	interop.Browse(t, "pages.mjs", base)
}

// What a person does in the console happens.
func TestActionsInChromium(t *testing.T) {
	base, h := serve(t)
	for _, in := range []string{`{"no message`, `{"from":"maria","text":"hello"}`} {
		if err := h.Bus().NC.Publish("plugin.inbound.demo", []byte(in)); err != nil {
			t.Fatal(err)
		}
	}
	interop.Browse(t, "actions.mjs", base)
}

// A text of any author, wherever it is shown, is no markup.
func TestTextStaysTextInChromium(t *testing.T) {
	base, _ := serve(t)
	interop.Browse(t, "injection.mjs", base)
}

// What is long, much or strange is shown whole.
func TestEdgesInChromium(t *testing.T) {
	base, _ := serve(t)
	interop.Browse(t, "edges.mjs", base)
}

// A page that does not know yet shows no number, and a host that is drained goes.
func TestSlowHostAndDrainInChromium(t *testing.T) {
	url, _ := bustest.Server(t)
	on := func(c *config.Config) { c.NATS = bus.Config{URL: url} }
	base, _ := serveAs(t, "blue", on)
	serveAs(t, "green", on)
	interop.Browse(t, "drain.mjs", base)
}

// A chat is taken over, written into and handed back, where the host can.
func TestTakeoverInChromium(t *testing.T) {
	base, _ := serve(t)
	interop.Browse(t, "takeover.mjs", base)
}

// Who has no token is asked for one, and who may only read changes nothing.
func TestRolesInChromium(t *testing.T) {
	base, _ := serve(t, func(c *config.Config) {
		c.HTTP.Tokens = []httpauth.Token{
			{Name: "desk", Token: "desk-secret-of-the-test", Role: httpauth.Admin}, {Name: "eye", Token: "eye-secret-of-the-test", Role: httpauth.Read},
			{Name: "shop", Token: "shop-secret-of-the-test", Role: httpauth.Chat}, {Name: "one", Token: "one-secret-of-the-test", Role: httpauth.Admin, Agents: []string{"ana"}},
		}
	})
	ask := func(method, path, token, origin string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(`{"agent":"ana","text":"hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for name, tt := range map[string]struct {
		method, path, token string
		want                int
	}{
		"no token":          {"GET", "/api/runs", "", 401},
		"wrong token":       {"GET", "/api/runs", "wrong", 401},
		"the reader reads":  {"GET", "/api/runs", "eye-secret-of-the-test", 200},
		"the reader writes": {"POST", "/api/agents/send", "eye-secret-of-the-test", 403},
		"the admin writes":  {"POST", "/api/agents/send", "desk-secret-of-the-test", 200},
	} {
		if got := ask(tt.method, tt.path, tt.token, ""); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
	interop.Browse(t, "roles.mjs", base)
	open, _ := serve(t)
	base = open
	if got := ask("POST", "/api/agents/send", "", "https://evil.test"); got != http.StatusForbidden {
		t.Errorf("a page of another site: got %d", got)
	}
}

// The chat page has a link where the host has one.
func TestLinksToTheChatInChromium(t *testing.T) {
	with, _ := serve(t, func(c *config.Config) { c.Plugins.Web = &settings.Web{} })
	interop.Browse(t, "chatlinks.mjs", with, "2")
	without, _ := serve(t, func(c *config.Config) { c.Plugins.Web = nil })
	interop.Browse(t, "chatlinks.mjs", without, "0")
}

// The pictures of the documentation.
func TestPicturesOfTheDocs(t *testing.T) {
	if os.Getenv("AGENTHOST_SHOTS") == "" {
		t.Log("AGENTHOST_SHOTS does not name a folder for them: nothing is drawn")
		return
	}
	base, _ := serve(t)
	interop.Browse(t, "pictures.mjs", base)
}
