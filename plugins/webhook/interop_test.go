//go:build interop

package webhook_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins/internal/interop"
	"agenthost/plugins/settings"
)

// node runs a program with the reference library, and returns what it prints.
func node(t *testing.T, program string, args ...string) string {
	t.Helper()
	dir := interop.Node(t, "standardwebhooks@1.1.1")
	file := filepath.Join(t.TempDir(), "program.cjs")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interop.Program(t, "node"), append([]string{file}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestInteropSignsForUs(t *testing.T) {
	for _, raw := range []string{"", "raw"} {
		theirs, ours := secret, secret
		if raw != "" {
			theirs, ours = "a plain text", "a plain text"
		}
		const body = `{"text":"from the library"}`
		now := time.Now()
		sig := node(t, `const { Webhook } = require("standardwebhooks");
const [secret, format, id, at, body] = process.argv.slice(2);
console.log(new Webhook(secret, format ? { format } : undefined).sign(id, new Date(at * 1000), body));`, theirs, raw, "msg_1", fmt.Sprint(now.Unix()), body)
		s := open(t, settings.Webhook{Secret: ours})
		code, answer := s.post(header("webhook-id", "msg_1", "webhook-timestamp", fmt.Sprint(now.Unix()), "webhook-signature", sig), body)
		if code != http.StatusAccepted {
			t.Errorf("%q: got %d %s", raw, code, answer)
		}
	}
}

func TestInteropVerifiesOurs(t *testing.T) {
	var got http.Header
	var body string
	c := newRecorder(t, &got, &body)
	s := open(t, settings.Webhook{Secret: secret, Reply: "callback", Callback: c.URL})
	data := `{"id":"r1","agent":"ana","session":"webhook.shop/dm/ana","kind":"reply","to":"ana","text":"Grüße","final":true}`
	bustest.Eventually(t, "the account is connected", func() bool { return s.courier.Status().Owner })
	if _, err := s.bus.JS.Publish(t.Context(), bus.OutboundPrefix+"webhook.shop", []byte(data)); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "the post", func() bool { return s.courier.Status().Out == 1 })
	words := node(t, `const { Webhook } = require("standardwebhooks");
const [secret, id, at, sig, body] = process.argv.slice(2);
console.log(new Webhook(secret).verify(body, { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": sig }).text);`,
		secret, got.Get("webhook-id"), got.Get("webhook-timestamp"), got.Get("webhook-signature"), body)
	if words != "Grüße" {
		t.Errorf("the library read %q", words)
	}
}
