//go:build long

package openai_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/doors/doorstest"
	agentsession "agenthost/session"
)

// While a model thinks something goes out, whole or streamed, that plain clients of HTTP
// take for what it is.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	h := doorstest.Serve(t, scripted(t, `rules: [{when: broken, delay: 9s, error: {status: 400, message: "this model is broken"}}, {when: slow, delay: 6s, chunks: [a, b, late]}, {delay: 9s, text: late}]`))
	ctx := bustest.Context(t)
	for name, c := range map[string]struct {
		path, body, begins string
		check              func(t *testing.T, a answer)
	}{
		"chat": {chatPath, `{"model":"ana","messages":[{"role":"user","content":"x"}]}`, " ", func(t *testing.T, a answer) {
			t.Helper()
			if a.content(t) != "late" {
				t.Errorf("got %s", a.Body)
			}
		}},
		"a chat that writes slowly": {chatPath, `{"model":"ana","messages":[{"role":"user","content":"slow"}]}`, " ", func(t *testing.T, a answer) {
			t.Helper()
			if a.content(t) != "ablate" {
				t.Errorf("got %s", a.Body)
			}
		}},
		"response": {"/v1/responses", `{"model":"ana","input":"x"}`, " ", func(t *testing.T, a answer) {
			t.Helper()
			if a.get(t, "output", 0, "content", 0, "text") != "late" {
				t.Errorf("got %s", a.Body)
			}
		}},
		"a chat that fails": {chatPath, `{"model":"ana","messages":[{"role":"user","content":"broken"}]}`, " ", func(t *testing.T, a answer) {
			t.Helper()
			if a.get(t, "error", "code") != "validation" || a.get(t, "error", "type") != "invalid_request_error" {
				t.Errorf("got %s", a.Body)
			}
		}},
		"a response that fails": {"/v1/responses", `{"model":"ana","input":"broken"}`, " ", func(t *testing.T, a answer) {
			t.Helper()
			if a.get(t, "object") != "response" || a.get(t, "status") != "failed" || a.get(t, "error", "code") != "validation" {
				t.Errorf("got %s", a.Body)
			}
		}},
		"stream": {chatPath, `{"model":"ana","stream":true,"messages":[{"role":"user","content":"x"}]}`, ": keep-alive\n\n", func(t *testing.T, a answer) {
			t.Helper()
			if a.streamed() != "late" {
				t.Errorf("got %s", a.Body)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := askAt(ctx, t, h.HTTP(), "POST", c.path, c.body, header{"Content-Type": "application/json"})
			if a.Status != 200 || !strings.HasPrefix(a.Body, c.begins) {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
			c.check(t, a)
		})
	}
	t.Run("as it is on the wire", func(t *testing.T) {
		t.Parallel()
		conn, err := net.Dial("tcp", h.HTTP())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := `{"model":"ana","messages":[{"role":"user","content":"x"}]}`
		fmt.Fprintf(conn, "POST %s HTTP/1.0\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", chatPath, h.HTTP(), len(body), body)
		got := bytes.Buffer{}
		_, err = got.ReadFrom(conn)
		head, answer, _ := strings.Cut(got.String(), "\r\n\r\n")
		if err != nil || !strings.HasPrefix(head, "HTTP/1.0 200 ") || !strings.Contains(head, "Content-Type: application/json") || !strings.Contains(head, "Agent-Session: ") {
			t.Errorf("got %s, %v", head, err)
		}
		if !strings.HasPrefix(answer, " ") || !json.Valid([]byte(answer)) {
			t.Errorf("got %s", answer)
		}
	})
}

// A stream says something at least every 10 s, whatever its agent is at: what comes of a
// tool, or of another message of the session, is nothing that its client sees.
func TestSignsOfLifeBesideOthers(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for name, chunk := range map[string]client.Chunk{
		"progress of a tool":      {Run: "r", Call: "c", Tool: "shell", Progress: "still at it"},
		"the text of another run": {Run: "r", InReplyTo: "other", Text: "x"},
		"thoughts":                {Run: "r", Reasoning: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := strings.ReplaceAll(name, " ", "-")
			conn, err := net.Dial("tcp", h.HTTP())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := `{"model":"ana","stream":true,"messages":[{"role":"user","content":"endless"}]}`
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAgent-Session: %s\r\nContent-Length: %d\r\n\r\n%s", chatPath, h.HTTP(), session, len(body), body)
			done := make(chan error, 1)
			go func() {
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					if strings.HasPrefix(lines.Text(), ": keep-alive") {
						done <- nil
						return
					}
				}
				done <- fmt.Errorf("no sign of life: %w", lines.Err())
			}()
			begun := time.Now()
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					chunk.Offset += len(chunk.Text) + len(chunk.Reasoning)
					data, _ := json.Marshal(chunk)
					if err := h.NC.Publish(agents.StreamSubject("ana", agentsession.DM("openai", "", session)), data); err != nil {
						t.Fatal(err)
					}
				case err := <-done:
					if err != nil || time.Since(begun) > 15*time.Second {
						t.Errorf("after %s: %v", time.Since(begun), err)
					}
					return
				}
			}
		})
	}
}
