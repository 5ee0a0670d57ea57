package mcpoauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// limit bounds one request to an authorization server.
const limit = 30 * time.Second

// ErrLogin is the cause of a refusal that a login cures.
var ErrLogin = errors.New("the server wants a login")

// kept are the tokens of a login. One that another process has brought counts from
// the next request on.
type kept struct {
	folder, server string
	client         *http.Client

	*file
	read  time.Time // when the file that grant is from was written
	grant *Grant    // nil: none
}

// A file may serve several connections.
type file struct {
	mu      sync.Mutex         // guards it, and what each of its kept knows of it
	renewal singleflight.Group // a refresh token is mostly good for one use
}

var files sync.Map // by path, of *file

func newKept(folder, server string, client *http.Client) *kept {
	f, _ := files.LoadOrStore(File(folder, server), new(file))
	return &kept{folder: folder, server: server, client: client, file: f.(*file)}
}

// token is one to send, refreshed if it has expired; empty when there is none.
func (k *kept) token(ctx context.Context) (string, error) {
	now, err := k.current()
	switch {
	case err != nil || now == nil:
		return "", err
	case now.Token.Valid() || now.Token.RefreshToken == "":
		return now.Token.AccessToken, nil
	}
	return k.newer(ctx, now.Token.AccessToken)
}

// renew is called after the server has refused a token.
func (k *kept) renew(req *http.Request, _ *http.Response, refused string) error {
	_, err := k.newer(req.Context(), refused)
	return err
}

// newer is a token that is not the one of before: one that another process has brought, or a
// new one. The end of the request that needs it does not end the refresh, which uses the refresh
// token up.
func (k *kept) newer(ctx context.Context, before string) (string, error) {
	token, err := k.renewed(ctx, before)
	if err == nil && token == before { // that of another request, which had sent an older one
		token, err = k.renewed(ctx, before)
	}
	return token, err
}

func (k *kept) renewed(ctx context.Context, before string) (string, error) {
	return shared(ctx, &k.renewal, func() (string, error) {
		now, err := k.current()
		switch {
		case err != nil:
			return "", err
		case now == nil:
			return "", ErrLogin
		case now.Token.AccessToken != before && now.Token.Valid():
			return now.Token.AccessToken, nil
		case now.Token.RefreshToken == "":
			return "", ErrLogin
		}
		return k.refresh(now)
	})
}

// current is the grant in the file, nil without a file.
func (k *kept) current() (*Grant, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.reload()
	return k.grant, err
}

// reload reads the file again if it is another one. Called with the lock held.
func (k *kept) reload() error {
	info, err := os.Stat(File(k.folder, k.server))
	if err != nil {
		k.grant, k.read = nil, time.Time{}
		return nil //nolint:nilerr // no file, no token
	}
	if k.grant != nil && info.ModTime().Equal(k.read) {
		return nil
	}
	k.grant, err = load(k.folder, k.server)
	k.read = info.ModTime()
	return err
}

// refresh gets a new token for the old one and keeps it.
func (k *kept) refresh(now *Grant) (string, error) {
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, k.client) // which has a time limit
	old := *now.Token
	old.Expiry = time.Unix(1, 0)
	fresh, err := now.config().TokenSource(ctx, &old).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode < 500 {
		return "", fmt.Errorf("%w: its refresh token is not accepted any more", ErrLogin)
	}
	if err != nil {
		return "", err
	}
	next := *now
	next.Token = fresh
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := save(k.folder, &next); err != nil {
		return "", err
	}
	k.grant, k.read = &next, time.Time{}
	return fresh.AccessToken, nil
}

// shared is what get brings, for all that wait for it at the same time: where an authorization
// server does not answer, each would wait for all before it. A request that ends waits no more.
func shared(ctx context.Context, g *singleflight.Group, get func() (string, error)) (string, error) {
	select {
	case r := <-g.DoChan("", func() (any, error) { return get() }):
		return r.Val.(string), r.Err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
