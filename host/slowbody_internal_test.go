package host

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agenthost/internal/httpauth"
)

// A bodiesServer is one for requests whose bodies do not come.
type bodiesServer struct {
	*testing.T
	address string
}

func serveBodies(t *testing.T, limits bodyLimits) bodiesServer {
	t.Helper()
	auth := httpauth.New(httpauth.Options{Listen: "0.0.0.0:80", Token: "secret"})
	mux := http.NewServeMux()
	mux.HandleFunc("/hooks/there", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	})
	mux.Handle("/kept", auth.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}), httpauth.Chat))
	auth.Mount(mux)
	srv := newServer(boundBodies(mux, auth, limits), time.Minute)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-served })
	return bodiesServer{t, l.Addr().String()}
}

// dial opens a connection that has to be answered within 20 s.
func (s bodiesServer) dial() (net.Conn, *bufio.Reader) {
	s.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", s.address)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	return conn, bufio.NewReader(conn)
}

func (s bodiesServer) write(conn net.Conn, text string) {
	s.Helper()
	if _, err := io.WriteString(conn, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		s.Fatal(err)
	}
}

func (s bodiesServer) read(r *bufio.Reader) *http.Response {
	s.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// A request without a token is answered though its body does not come: at once where it is
// refused whatever the body says, and soon where the body is what lets it in.
func TestBodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	s := serveBodies(t, bodyLimits{refused: time.Minute, proves: 200 * time.Millisecond})
	for _, tt := range []struct {
		head string
		want int
	}{
		{"POST /hooks/x HTTP/1.1\nContent-Length: 1000", http.StatusNotFound},
		{"POST /hooks/x HTTP/1.1\nTransfer-Encoding: chunked", http.StatusNotFound},
		{"POST /kept HTTP/1.1\nContent-Length: 1000", http.StatusUnauthorized},
		{"POST /kept HTTP/1.1\nAuthorization: Bearer wrong\nTransfer-Encoding: chunked", http.StatusUnauthorized},
		{"POST //kept HTTP/1.1\nContent-Length: 1000", http.StatusTemporaryRedirect},
		{"POST /login HTTP/1.1\nContent-Length: 1000000\nContent-Type: application/x-www-form-urlencoded", http.StatusRequestEntityTooLarge},
		{"POST /login HTTP/1.1\nContent-Length: 1000\nContent-Type: application/x-www-form-urlencoded", http.StatusUnauthorized},
		{"POST /hooks/there HTTP/1.1\nContent-Length: 1000", http.StatusRequestTimeout},
		{"POST /hooks/there HTTP/1.1\nTransfer-Encoding: chunked", http.StatusRequestTimeout},
	} {
		conn, answers := s.dial()
		s.write(conn, tt.head+"\nHost: x\n\n1")
		if res := s.read(answers); res.StatusCode != tt.want { //nolint:bodyclose // read does
			t.Errorf("%q: got %s", tt.head, res.Status)
		}
	}
}

// A body that has come leaves its connection open for the next request, and the limit
// ends with it.
func TestConnectionIsKeptBehindABody(t *testing.T) {
	t.Parallel()
	s := serveBodies(t, bodyLimits{refused: time.Minute, proves: time.Minute})
	conn, answers := s.dial()
	for _, request := range []string{
		"POST /hooks/there HTTP/1.1\nHost: x\nContent-Length: 2\n\nhi",
		"POST /hooks/there HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n",
		"POST /kept HTTP/1.1\nHost: x\nAuthorization: Bearer secret\nContent-Length: 2\n\nhi",
		"POST /hooks/there HTTP/1.1\nHost: x\nContent-Length: 2\n\nhi",
	} {
		s.write(conn, request)
		res := s.read(answers) //nolint:bodyclose // read does
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK || res.Close {
			t.Errorf("%q: got %s, %v; closed %t", request, res.Status, err, res.Close)
		}
	}
}

// With a token a body may take its time.
func TestSlowBodyWithAToken(t *testing.T) {
	t.Parallel()
	auth := httpauth.New(httpauth.Options{Listen: "0.0.0.0:80", Token: "secret"})
	for token, bound := range map[string]bool{"secret": false, "wrong": true} {
		r := httptest.NewRequest(http.MethodPost, "/api/send", strings.NewReader("slow"))
		r.Header.Set("Authorization", "Bearer "+token)
		var got bool
		boundBodies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, got = r.Body.(*boundedBody) }), auth, requestLimits).ServeHTTP(httptest.NewRecorder(), r)
		if got != bound {
			t.Errorf("with the token %q: the body is bound: %t, want %t", token, got, bound)
		}
	}
}

// The server sees from the body of its own request that an answer was given before all of
// it was read, and only then keeps the connection for as long as a client needs to read
// that answer while it still sends: 413, and not a broken connection.
func TestServerKeepsItsOwnBody(t *testing.T) {
	t.Parallel()
	auth := httpauth.New(httpauth.Options{Listen: "0.0.0.0:80", Token: "secret"})
	for _, path := range []string{"/hooks/there", "/login", "/api/send"} {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("large"))
		own := r.Body
		var bound bool
		boundBodies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, bound = r.Body.(*boundedBody) }), auth, requestLimits).ServeHTTP(httptest.NewRecorder(), r)
		if r.Body != own || !bound {
			t.Errorf("%s: the server's body is its own: %t; the handler's is bound: %t", path, r.Body == own, bound)
		}
	}
}
