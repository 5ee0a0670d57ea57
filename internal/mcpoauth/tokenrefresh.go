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

	mu    *sync.Mutex // of the file: it may serve several connections
	read  time.Time   // when the file that grant is from was written
	grant *Grant      // nil: none
}

var locks sync.Map // by file, of *sync.Mutex

func newKept(folder, server string, client *http.Client) *kept {
	mu, _ := locks.LoadOrStore(File(folder, server), new(sync.Mutex))
	return &kept{folder: folder, server: server, client: client, mu: mu.(*sync.Mutex)}
}

// token is one to send, refreshed if it has expired; empty when there is none.
func (k *kept) token(context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.reload(); err != nil || k.grant == nil {
		return "", err
	}
	if !k.grant.Token.Valid() && k.grant.Token.RefreshToken != "" {
		if err := k.refresh(); err != nil {
			return "", err
		}
	}
	return k.grant.Token.AccessToken, nil
}

// renew is called after the server has refused a token.
func (k *kept) renew(_ *http.Request, _ *http.Response, refused string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.reload(); err != nil {
		return err
	}
	switch {
	case k.grant == nil:
		return ErrLogin
	case k.grant.Token.AccessToken != refused: // there is a newer one meanwhile
		return nil
	case k.grant.Token.RefreshToken == "":
		return ErrLogin
	}
	return k.refresh()
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

// refresh gets a new token for the old one and keeps it. Called with the lock
// held: a refresh token is mostly good for one use. For the same reason the end of
// the request that needs the token does not end this one.
func (k *kept) refresh() error {
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, k.client) // which has a time limit
	old := *k.grant.Token
	old.Expiry = time.Unix(1, 0)
	fresh, err := k.grant.config().TokenSource(ctx, &old).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode < 500 {
		return fmt.Errorf("%w: its refresh token is not accepted any more", ErrLogin)
	}
	if err != nil {
		return err
	}
	next := *k.grant
	next.Token = fresh
	if err := save(k.folder, &next); err != nil {
		return err
	}
	k.grant, k.read = &next, time.Time{}
	return nil
}
