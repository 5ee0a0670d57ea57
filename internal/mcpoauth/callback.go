package mcpoauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A callback is where the browser of a person comes back to, on this machine
// alone.
type callback struct {
	url    string
	server *http.Server
	done   sync.WaitGroup
	back   chan url.Values

	mu    sync.Mutex
	state string // of the login under way; what has another is of no interest
}

func listen(ctx context.Context) (*callback, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	c := &callback{url: "http://" + l.Addr().String() + "/callback", back: make(chan url.Values, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", c.serve)
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	c.done.Go(func() { _ = c.server.Serve(l) })
	return c, nil
}

func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the browser gets its page
	defer cancel()
	_ = c.server.Shutdown(ctx)
	_ = c.server.Close()
	c.done.Wait()
}

func (c *callback) serve(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	c.mu.Lock()
	mine := c.state != "" && query.Get("state") == c.state
	c.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !mine {
		http.Error(w, "This is no answer to the login under way.", http.StatusBadRequest)
		return
	}
	select {
	case c.back <- query:
	default:
	}
	if query.Get("error") != "" {
		_, _ = fmt.Fprintln(w, "The login was refused. You can close this window; the terminal says why.")
		return
	}
	_, _ = fmt.Fprintln(w, "You are logged in. You can close this window.")
}

// wait shows the person where to log in, and returns what comes back.
func (c *callback) wait(ctx context.Context, address string, show func(string)) (*auth.AuthorizationResult, error) {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" {
		return nil, errors.New("the authorization server has no address for a browser")
	}
	c.mu.Lock()
	c.state = to.Query().Get("state")
	c.mu.Unlock()
	show(address)
	select {
	case <-ctx.Done():
		return nil, errors.New("no login came back in time")
	case got := <-c.back:
		if code := got.Get("error"); code != "" {
			return nil, fmt.Errorf("the login was refused: %s", cmp.Or(got.Get("error_description"), code))
		}
		return &auth.AuthorizationResult{Code: got.Get("code"), State: got.Get("state"), Iss: got.Get("iss")}, nil
	}
}
