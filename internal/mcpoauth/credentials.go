package mcpoauth

import (
	"context"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/sync/singleflight"
)

// credentials get the host's own tokens, when the server first asks for one.
type credentials struct {
	mu      sync.Mutex // the handler's
	handler *extauth.ClientCredentialsHandler
	asking  singleflight.Group
	renewal singleflight.Group
}

func newCredentials(id, secret string, client *http.Client) (*credentials, error) {
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{ClientID: id, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret}},
		HTTPClient:  client,
	})
	return &credentials{handler: h}, err
}

func (c *credentials) token(ctx context.Context) (string, error) {
	return shared(ctx, &c.asking, c.get)
}

// get gets a token, a new one when it has expired.
func (c *credentials) get() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	source, err := c.handler.TokenSource(context.Background()) // the client has a time limit
	if err != nil || source == nil {
		return "", err
	}
	token, err := source.Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// renew gets a token by what the refusal says of its authorization server. Later refreshes go by
// it too, so that the end of the request does not end it.
func (c *credentials) renew(req *http.Request, resp *http.Response, refused string) error {
	ctx := context.Background()
	about, refusal := req.Clone(ctx), *resp
	refusal.Body = http.NoBody // RoundTrip reads and closes the real one
	_, err := shared(req.Context(), &c.renewal, func() (string, error) {
		if now, err := c.get(); err == nil && now != refused { // another request got one meanwhile
			return now, nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return "", c.handler.Authorize(ctx, about, &refusal)
	})
	return err
}
