//go:build long

package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/plugins/webhook"
)

// A body that comes drop by drop ends by a deadline.
func TestDrops(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x", Scheme: "token"})
	conn := s.dial("POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 100000\r\n\r\n")
	defer func() { _ = conn.Close() }()
	stop := make(chan struct{})
	var dropping sync.WaitGroup
	dropping.Go(func() {
		for tick := time.Tick(100 * time.Millisecond); ; {
			select {
			case <-tick:
				_, _ = io.WriteString(conn, "x")
			case <-stop:
				return
			}
		}
	})
	if got := firstLine(t, conn); !strings.Contains(got, "408") {
		t.Errorf("got %q, want 408", got)
	}
	close(stop)
	dropping.Wait()
}

func TestManySenders(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x", Scheme: "token"})
	const senders, each = 200, 20
	body := bytes.Repeat([]byte("x"), 20_000)
	var group sync.WaitGroup
	for n := range senders {
		group.Go(func() {
			for i := range each {
				h := header("Authorization", "Bearer x", "Webhook-Id", fmt.Sprintf("%d-%d", n, i))
				code, answer := s.post(h, string(body))
				for code == http.StatusServiceUnavailable { // NATS is slow: it is sent again, as they do
					code, answer = s.post(h, string(body))
				}
				if code != http.StatusAccepted {
					t.Errorf("got %d %s", code, answer)
				}
			}
		})
	}
	group.Wait()
	if in := s.courier.Status().In; in != senders*each {
		t.Errorf("%d were taken, want %d", in, senders*each)
	}
}

// An id belongs to its body for three days, also on a host that has not seen it.
func TestIDsOfDays(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		publisher, err := publishing.New(b.NC, b.Log)
		if err != nil {
			t.Fatal(err)
		}
		background(t, publisher.Run)
		post := func(handler http.Handler, body string, want int) {
			t.Helper()
			rec := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodPost, "/hooks/shop", strings.NewReader(body))
			req.Header = header("Authorization", "Bearer x", "Webhook-Id", "m1")
			if handler.ServeHTTP(rec, req); rec.Code != want {
				t.Errorf("%s: got %d %s, want %d", body, rec.Code, rec.Body, want)
			}
		}
		host := func() http.Handler {
			c, err := webhook.New(settings.Webhook{Secret: "x", Scheme: "token"})
			if err != nil {
				t.Fatal(err)
			}
			courier := plugins.New(plugins.Account{Channel: "webhook", Instance: "shop"}, c, plugins.Parts{
				NC: b.NC, JS: b.JS, Publisher: publisher, Files: filestore.New(b.JS), Reader: records.NewReader(b.JS), Host: "h", Log: b.Log,
			})
			return c.Handler(courier.Inbox())
		}
		first := host()
		post(first, "a", http.StatusAccepted)
		for _, wait := range []time.Duration{16*time.Minute + 30*time.Second, 70 * time.Hour} {
			time.Sleep(wait)
			for _, h := range []http.Handler{first, host()} {
				post(h, "b", http.StatusUnauthorized)
				post(h, "a", http.StatusAccepted)
			}
		}
		time.Sleep(2 * time.Hour) // the note has expired, and its marker is there yet
		other := host()
		post(other, "b", http.StatusAccepted)
		post(host(), "a", http.StatusUnauthorized)
	})
}
