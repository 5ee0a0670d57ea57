//go:build long

package agenthost_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What a flood of answers, malformed requests, and hosts that are killed all the
// time come to.
func TestFloods(t *testing.T) {
	t.Parallel()
	binary := built(t)
	for name, flood := range map[string]func(*testing.T, string){
		"answers of foreign chats": floodOfAnswers, "malformed HTTP": floodOfHTTP, "kills under send --wait": floodOfKills,
	} {
		t.Run(name, func(t *testing.T) { flood(t, binary) })
	}
}

const floodedConfig = `nats: {embedded: {listen: "NATS"}}
http: {listen: "WEB"}
models:
  main: {provider: scripted, script: play.yaml}
agents:
  - {id: ana, channels: [web], tools: [write_file]}
`

const floodedScript = `rules:
  - {when: note, tool_calls: [{name: write_file, args: {path: note.txt, text: hi}}]}
  - {after_tool: "*", text: "Done: ${result}"}
  - {text: "You said: ${text}"}
`

func flooded(t *testing.T, binary string) *target {
	t.Helper()
	a := newTarget(t, binary, floodedConfig, floodedScript)
	if err := a.run(); err != nil {
		t.Fatal(err)
	}
	return a
}

// None of many answers from elsewhere counts, each is answered, and the one of the
// chat that was asked counts.
func floodOfAnswers(t *testing.T, binary string) {
	t.Helper()
	const foreign = 500
	a := flooded(t, binary)
	nc, out := a.operator(), a.outbound()
	asked := a.ask(out, "ann", "make a note")
	for i := range foreign {
		publish(t, nc, "plugin.inbound.web", map[string]any{"from": fmt.Sprintf("eve%d", i), "text": "approve", "answers": asked.Call})
	}
	for range foreign {
		if got := out.next(); got.Kind != "error" {
			t.Fatalf("a foreign chat gets %+v", got)
		}
	}
	if text := a.read("data/workspaces/ana/note.txt"); text != "" {
		t.Errorf("the note is written: %q", text)
	}
	if got := a.ask(out, "ann", "approve"); !strings.HasPrefix(got.Text, "Done") {
		t.Errorf("ann gets %+v", got)
	}
}

// The listener takes what is no HTTP, and what never ends, and goes on.
func floodOfHTTP(t *testing.T, binary string) {
	t.Helper()
	a := flooded(t, binary)
	long := strings.Repeat("x", 2<<20)
	for _, text := range []string{
		"", "\x00\x01\x02\xff", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET", "GET / HTTP/9.9\r\n\r\n", "GET /" + long + " HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + long + "\r\n\r\n", "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", "GET //../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nzz\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + strings.Repeat("\xff", 1000) + "\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: local\x00host\r\n\r\n", "GET /healthz",
	} {
		a.speak(text)
	}
	resp, err := http.Get("http://" + a.web + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %s", resp.Status)
	}
	if log := a.read("host.log"); strings.Contains(log, "panic") {
		t.Errorf("the log has a panic:\n%s", log)
	}
}

// speak sends a text, ends its half of the connection and reads what comes back.
func (a *target) speak(text string) {
	a.t.Helper()
	var d net.Dialer
	c, err := d.DialContext(a.t.Context(), "tcp", a.web)
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(attackPatience)); err != nil {
		a.t.Fatal(err)
	}
	_, _ = io.WriteString(c, text) // the listener may have hung up
	_ = c.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(c)
	if strings.HasPrefix(string(answer), "HTTP/1.1 500") || strings.Contains(string(answer), "root:") {
		a.t.Errorf("%.60q is answered with %.300q, %v", text, answer, err)
	}
}

// A host is killed while its model thinks and send --wait waits, again and again:
// each message has one answer, and each command prints it.
func floodOfKills(t *testing.T, binary string) {
	t.Helper()
	const kills = 5
	asked := make(chan struct{})
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%2 == 1 { // of the host that is killed
			asked <- struct{}{}
			_, _ = io.Copy(io.Discard, r.Body) // only then the end of the connection is noticed
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	a := newTarget(t, binary, strings.Replace(floodedConfig, "provider: scripted, script: play.yaml", "provider: openai, model: m, api_key: k, base_url: "+server.URL, 1), "")
	for i := range kills {
		if err := a.run(); err != nil {
			t.Fatal(err)
		}
		answer := make(chan string)
		go func() {
			cmd := a.command(t.Context(), "send", "ana", "hello", "--wait", "--timeout", "2m", "--session", fmt.Sprint("s", i), "-s", "nats://"+a.nats)
			out, err := cmd.Output()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				err = fmt.Errorf("%w: %s", err, exit.Stderr)
			}
			answer <- fmt.Sprint(string(out), err)
		}()
		<-asked
		a.kill()
		if err := a.run(); err != nil {
			t.Fatal(err)
		}
		if got, want := <-answer, "Yes.\n<nil>"; got != want {
			t.Errorf("send prints %q, want %q", got, want)
		}
		a.kill()
	}
	if n := calls.Load(); n != 2*kills {
		t.Errorf("the model was called %d times, want %d", n, 2*kills)
	}
}
