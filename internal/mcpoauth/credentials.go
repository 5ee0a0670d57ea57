package mcpoauth

import (
	"context"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// credentials get the host's own tokens, when the server first asks for one.
type credentials struct {
	mu      sync.Mutex
	handler *extauth.ClientCredentialsHandler
}

func newCredentials(id, secret string, client *http.Client) (*credentials, error) {
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{ClientID: id, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret}},
		HTTPClient:  client,
	})
	return &credentials{handler: h}, err
}

func (c *credentials) token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	source, err := c.handler.TokenSource(ctx)
	if err != nil || source == nil {
		return "", err
	}
	token, err := source.Token() // a new one when it has expired
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// renew gets a token by what the refusal says of its authorization server.
func (c *credentials) renew(req *http.Request, resp *http.Response, refused string) error {
	ctx := context.Background()                                 // later refreshes go by it too; the client has a time limit
	if now, err := c.token(ctx); err == nil && now != refused { // another request got one meanwhile
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handler.Authorize(ctx, req, resp)
}
