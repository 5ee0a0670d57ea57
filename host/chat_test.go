package host_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// A new user opens a browser at once: the demo serves the chat page and says where.
func TestDemoServesTheChatPage(t *testing.T) {
	t.Parallel()
	log := &bustest.LogBuffer{}
	h, _ := startOptions(t, host.Options{Config: hosttest.Demo(t), Log: zerolog.New(log)})
	page, console := "http://"+h.HTTP()+"/chat", "http://"+h.HTTP()+"/"
	waittest.Until(t, "the log says where the pages are", func() bool {
		return strings.Contains(log.String(), `"chat: `+page+`"`) && strings.Contains(log.String(), `"console: `+console+`"`)
	})
	if strings.Contains(log.String(), "cannot be served") {
		t.Errorf("an account is missed:\n%s", log)
	}
	res, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK || !strings.Contains(string(body), "/chat/app.js") {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}

// Who may only chat lands on the page after the login: a host without one says why.
func TestHostWithoutChatPageSaysSo(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.Plugins.Web = nil
	h, _ := start(t, cfg)
	res, err := http.Get("http://" + h.HTTP() + "/chat")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "plugins: {web: {}}") {
		t.Errorf("got %d %s, want 404 with the cure", res.StatusCode, body)
	}
}
