//go:build interop

package host_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host"

	"github.com/rs/zerolog"
)

// A device talks to an agent by the gateway of the embedded server.
func TestInteropMQTT(t *testing.T) {
	program := func(name string) string {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed: %v", name, err)
		}
		return path
	}
	pub, sub := program("mosquitto_pub"), program("mosquitto_sub")
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	for name, text := range map[string]string{
		"mqtt.conf": fmt.Sprintf("server_name: home\nmqtt { listen: \"127.0.0.1:%s\" }\n", port),
		"agenthost.yaml": "http: {listen: ''}\nnats: {embedded: {config: mqtt.conf}}\nmodels: {main: {provider: echo}}\n" +
			"agents: [{id: ana, channels: [{channel: mqtt, instance: \"*\"}]}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(dir, "agenthost.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	h := host.New(host.Options{Config: cfg, Log: zerolog.Nop(), Grace: time.Second})
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { done <- h.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-h.Ready():
	case err := <-done:
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "data", "token"))
	if err != nil {
		t.Fatal(err)
	}
	login := func(args ...string) []string {
		return append([]string{"-u", "agenthost", "-P", strings.TrimSpace(string(token)), "-V", "mqttv311", "-p", port, "-q", "1"}, args...)
	}
	heard := make(chan string, 1)
	go func() {
		out, err := exec.CommandContext(t.Context(), sub, login("-t", "plugin/outbound/mqtt/lamp", "-C", "1", "-W", "50")...).CombinedOutput()
		heard <- fmt.Sprint(string(out), err)
	}()
	var reply string
	bustest.Eventually(t, "the reply", func() bool { // whoever listens later hears the next one
		if out, err := exec.CommandContext(t.Context(), pub, login("-t", "plugin/inbound/mqtt/lamp", "-m", "It is dark")...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		select {
		case reply = <-heard:
			return true
		default:
			return false
		}
	})
	if !strings.Contains(reply, `"text":"It is dark"`) {
		t.Errorf("heard %q", reply)
	}
}
