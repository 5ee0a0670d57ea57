// Package transporttest tests transports for HTTP.
package transporttest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// LeavesSilent tests that requests go over another connection soon after the network has
// begun to drop what is sent over the first. HTTP/2 has all requests in one connection, and
// goes on with it after one that has taken too long. It changes the transport.
func LeavesSilent(t *testing.T, transport *http.Transport) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
		srv := &http.Server{Handler: handler, Protocols: onlyHTTP2(), ReadHeaderTimeout: time.Minute}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		defer func() {
			_ = srv.Close()
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}()
		var last *lossy
		transport.Proxy, transport.Protocols = nil, onlyHTTP2()
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			last = &lossy{}
			var theirs net.Conn
			last.Conn, theirs = net.Pipe()
			select {
			case l.conns <- theirs:
				return last, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		if err := get(t, client); err != nil {
			t.Fatal(err)
		}
		last.silent.Store(true)
		var err error
		for range 2 {
			if err = get(t, client); err == nil {
				return
			}
		}
		t.Fatalf("two requests after the connection was lost: %v", err)
	})
}

func onlyHTTP2() *http.Protocols {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	return &p
}

func get(t *testing.T, client *http.Client) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server.test/", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	proto, err := io.ReadAll(resp.Body)
	if err == nil && string(proto) != "HTTP/2.0" {
		t.Fatalf("the request was by %s", proto)
	}
	return err
}

// A lossy connection loses what is written once it is silent.
type lossy struct {
	net.Conn
	silent atomic.Bool
}

func (c *lossy) Write(data []byte) (int, error) {
	if c.silent.Load() {
		return len(data), nil
	}
	return c.Conn.Write(data)
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, errors.New("closed")
	}
}

func (l *listener) Close() error {
	close(l.closed)
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// EndsInSilence tests that a request ends soon whose server takes it and says nothing, and one
// whose answer stops on its way. It changes the transport.
func EndsInSilence(t *testing.T, transport *http.Transport, request func(context.Context) error) {
	t.Helper()
	for name, said := range map[string]string{"no answer": "", "half an answer": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport.Proxy = nil
				transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go mute(theirs, said)
					return ours, nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer transport.CloseIdleConnections()
				ended := make(chan error, 1)
				go func() { ended <- request(ctx) }()
				select {
				case err := <-ended:
					if err == nil {
						t.Error("no error")
					}
				case <-time.After(45 * time.Second):
					t.Error("it still waits")
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// mute says something once a request has begun, and nothing more until the other side closes.
func mute(conn net.Conn, said string) {
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 4096)); err != nil {
		return
	}
	go func() { _, _ = io.WriteString(conn, said) }()
	_, _ = io.Copy(io.Discard, conn)
}
