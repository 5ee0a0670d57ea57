package host

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A client that sends its body a byte at a time is cut off, one that waits for an answer
// is not.
func TestClientsThatDrip(t *testing.T) {
	t.Parallel()
	const within = 200 * time.Millisecond
	read := make(chan error, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /read", func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	})
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(3 * within):
		}
		_, _ = io.WriteString(w, "late")
	})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := newServer(mux, within)
	srv.ReadHeaderTimeout = time.Minute // a busy machine needs longer to get to the handler
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer func() { _ = srv.Close(); <-served }()
	dial := func() net.Conn {
		t.Helper()
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	dripping := dial()
	defer dripping.Close()
	if _, err := io.WriteString(dripping, "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := dripping.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(within / 10)
		}
	}()
	select {
	case err := <-read:
		if err == nil {
			t.Error("the whole body was read")
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on reading")
	}
	waiting := dial()
	defer waiting.Close()
	if _, err := io.WriteString(waiting, "POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(waiting), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), "late") {
		t.Errorf("got %q, %v", body, err)
	}
}
