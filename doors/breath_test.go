package doors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/doors"
)

// pipes are a listener whose connections are in memory, so that a fake clock knows
// when all wait.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p pipes) dial() net.Conn {
	near, far := net.Pipe()
	p <- far
	return near
}

// serveLate serves answers that take what a request says, with the status it wants.
func serveLate(t *testing.T) pipes {
	t.Helper()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Agent-Session", "s")
		b := doors.Breathe(w)
		defer b.Stop()
		took, err := time.ParseDuration(r.FormValue("took"))
		if err != nil {
			t.Error(err)
		}
		time.Sleep(took)
		b.Header().Set("Content-Type", "application/json")
		b.Header().Set("Retry-After", "2")
		b.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(b).Encode(map[string]any{"took": took.String()})
	})}
	p := make(pipes)
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(p) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return p
}

// An answer has its own status and header until it takes longer than clients and
// proxies are left without a sign; then they hear a blank at least every 10 s.
func TestBreath(t *testing.T) {
	for _, c := range []struct {
		took   string
		status int
		blanks int
	}{{"0s", 503, 0}, {"7s", 503, 0}, {"9s", 200, 1}, {"65s", 200, 8}, {"1h1s", 200, 450}} {
		t.Run(c.took, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serveLate(t)
				transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial(), nil }}
				defer transport.CloseIdleConnections()
				for range 2 { // on one connection
					res, err := (&http.Client{Transport: transport}).Get("http://host/?took=" + c.took)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					res.Body.Close()
					h := res.Header
					if err != nil || res.StatusCode != c.status || h.Get("Content-Type") != "application/json" || h.Get("Agent-Session") != "s" || (h.Get("Retry-After") != "") != (c.status != 200) {
						t.Errorf("got %d %v, %v", res.StatusCode, h, err)
					}
					var got struct{ Took string }
					if err := json.Unmarshal(body, &got); err != nil || got.Took == "" || strings.Count(string(body), " ") != c.blanks {
						t.Errorf("got %q, %v", body, err)
					}
				}
			})
		})
	}
}

// On the wire there is one status line, and no more than 10 s between two signs.
func TestBreathOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := serveLate(t).dial()
		defer conn.Close()
		last := time.Now()
		fmt.Fprint(conn, "GET /?took=45s HTTP/1.0\r\n\r\n")
		var all bytes.Buffer
		piece := make([]byte, 4096)
		for {
			n, err := conn.Read(piece)
			if silent := time.Since(last); silent > 10*time.Second {
				t.Errorf("nothing came for %s", silent)
			}
			last = time.Now()
			all.Write(piece[:n])
			if err != nil {
				break
			}
		}
		head, body, _ := strings.Cut(all.String(), "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.0 200 OK\r\n") || strings.Count(all.String(), "HTTP/1.") != 1 || !json.Valid([]byte(body)) {
			t.Errorf("got %s", all.String())
		}
	})
}
