package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"agenthost/llm"
)

// Bodies are what a server of a dialect may send, for Faults.
type Bodies struct {
	Key      string   // that the provider under test is given
	Begun    string   // a stream that has said something
	Finished string   // one that has come to the model's finish
	Done     string   // and to the server's own mark of the end; empty: there is none
	Whole    string   // the begin of an answer in one piece
	Leave    []string // begins of streams whose first delta the caller may leave at

	// Repeats are ways to fail in which the server repeats a text, by how.
	Repeats func(text string) map[string]http.HandlerFunc
}

// Faults checks what becomes of a dialect's stream when the network or the server
// fails, says no more, or repeats the key.
func Faults(t *testing.T, d Dialect, b Bodies) {
	t.Run("broken body", func(t *testing.T) { brokenBodies(t, d, b) })
	t.Run("unreachable", func(t *testing.T) { unreachable(t, d, b) })
	t.Run("silence", func(t *testing.T) { silences(t, d, b) })
	t.Run("deadline", func(t *testing.T) { deadline(t, d) })
	t.Run("key", func(t *testing.T) { keyIsNeverShown(t, d, b) })
	t.Run("left", func(t *testing.T) { leftAtOnce(t, d, b) })
}

// brokenBodies break the body itself.
func brokenBodies(t *testing.T, d Dialect, b Bodies) {
	reset := errors.New("connection reset")
	tests := map[string]struct {
		status int
		body   string
		want   string // empty: no error
	}{
		"at once":             {200, "", "connection reset"},
		"in the stream":       {200, b.Begun, "connection reset"},
		"after the finish":    {200, b.Finished, ""},
		"in plain JSON":       {200, b.Whole, "connection reset"},
		"in an error":         {500, "half an err", "half an err"},
		"instead of an error": {500, "", "internal server error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := d.Make(t, llm.Config{}, RoundTripper(func(*http.Request) (*http.Response, error) {
				r := io.MultiReader(strings.NewReader(tt.body), iotest.ErrReader(reset))
				return &http.Response{StatusCode: tt.status, Body: io.NopCloser(r)}, nil
			}))
			a := Answered(t, p, Request())
			if tt.want == "" {
				if a.Err != nil {
					t.Error(a.Err)
				}
				return
			}
			if e := llm.AsError(a.Err); e == nil || e.Code != llm.CodeProviderUnavailable || !e.Transient || !strings.Contains(e.Error(), tt.want) {
				t.Errorf("got %#v, want %q", a.Err, tt.want)
			}
		})
	}
}

func unreachable(t *testing.T, d Dialect, b Bodies) {
	server := httptest.NewServer(nil)
	server.Close()
	p := d.Make(t, llm.Config{BaseURL: server.URL, APIKey: b.Key}, &http.Transport{})
	if e := Failed(t, p); e.Code != llm.CodeProviderUnavailable || !e.Transient || e.Status != 0 || strings.Contains(e.Error(), b.Key) {
		t.Errorf("got %#v, want a transient provider_unavailable", e)
	}
}

// silences are servers that say no more and do not hang up.
func silences(t *testing.T, d Dialect, b Bodies) {
	tests := map[string]struct {
		status int
		body   string
		want   time.Duration
		ok     bool
	}{
		"after the end":      {200, b.Done, 50 * time.Millisecond, true},
		"after the finish":   {200, b.Finished, 2 * time.Second, true},
		"in an error's text": {500, "oo", 5 * time.Second, false},
	}
	if b.Done == "" {
		delete(tests, "after the end")
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := d.Make(t, llm.Config{}, RoundTripper(func(r *http.Request) (*http.Response, error) {
					silence := readerFunc(func([]byte) (int, error) { <-r.Context().Done(); return 0, r.Context().Err() })
					return &http.Response{StatusCode: tt.status, Body: io.NopCloser(io.MultiReader(strings.NewReader(tt.body), silence))}, nil
				}))
				start := time.Now()
				a := Answered(t, p, Request())
				if (a.Err == nil) != tt.ok || time.Since(start) != tt.want {
					t.Errorf("got %v after %v, want it after %v", a.Err, time.Since(start), tt.want)
				}
			})
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func deadline(t *testing.T, d Dialect) {
	synctest.Test(t, func(t *testing.T) {
		p := d.Make(t, llm.Config{}, RoundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		a := Read(p.Stream(ctx, Request()))
		if e := llm.AsError(a.Err); e == nil || e.Code != llm.CodeRunTimeout || e.Transient {
			t.Errorf("got %v, want run_timeout", a.Err)
		}
	})
}

func keyIsNeverShown(t *testing.T, d Dialect, b Bodies) {
	text := `you sent "Bearer ` + b.Key + `", ` + strings.Repeat("x", 470) + b.Key
	tests := b.Repeats(text)
	tests["as text"] = Respond(401, nil, text)
	tests["in a redirect"] = Respond(http.StatusTemporaryRedirect, http.Header{"Location": {"nowhere://" + b.Key}}, "")
	for name, handler := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.String(), b.Key) {
					t.Errorf("key is in %s", r.URL)
				}
				handler(w, r)
			}))
			t.Cleanup(server.Close)
			transport := new(http.Transport)
			t.Cleanup(transport.CloseIdleConnections)
			p := d.Make(t, llm.Config{BaseURL: server.URL, APIKey: b.Key}, transport)
			for e := error(Failed(t, p)); e != nil; e = errors.Unwrap(e) {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), b.Key[:12]) {
					t.Errorf("key is in %v", e)
				}
			}
		})
	}
}

func leftAtOnce(t *testing.T, d Dialect, b Bodies) {
	for i, begun := range b.Leave {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			server := httptest.NewServer(Stall(begun))
			t.Cleanup(server.Close)
			for _, err := range d.New(t, server.URL).Stream(t.Context(), ToolRequest()) {
				if err != nil {
					t.Error(err)
				}
				break
			}
		})
	}
}
