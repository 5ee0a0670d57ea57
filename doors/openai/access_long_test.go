//go:build long

package openai_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

// While a model thinks something goes out, whole or streamed.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	h := doorstest.Serve(t, scripted(t, "rules: [{delay: 9s, text: late}]"))
	ctx := bustest.Context(t)
	streamed := make(chan answer, 1)
	go func() {
		a, err := tryAt(ctx, h.HTTP(), "POST", chatPath, `{"model":"ana","stream":true,"messages":[{"role":"user","content":"y"}]}`, nil)
		if err != nil {
			t.Error(err)
		}
		streamed <- a
	}()
	conn, err := net.Dial("tcp", h.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := []byte(`{"model":"ana","messages":[{"role":"user","content":"x"}]}`)
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", chatPath, h.HTTP(), len(body), body)
	got := bytes.Buffer{}
	if _, err := got.ReadFrom(conn); err != nil || !strings.HasPrefix(got.String(), "HTTP/1.1 102 ") || !strings.Contains(got.String(), "late") {
		t.Errorf("whole: got %s, %v", got.String(), err)
	}
	a := <-streamed
	if !strings.HasPrefix(a.Body, ": keep-alive\n\n") || a.streamed() != "late" {
		t.Errorf("stream: got %s", a.Body)
	}
}
