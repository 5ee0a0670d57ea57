//go:build long

package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/plugins/settings"
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
