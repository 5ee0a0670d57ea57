package mcpoauth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"agenthost/tools"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// A Login gets a token for an MCP server from a person.
type Login struct {
	Server tools.MCPConfig
	Folder string // where the token is kept
	// Show has the person open an address in a browser. It does not wait.
	Show func(address string)
}

// Run waits until the person has logged in, or ctx ends, and keeps the token.
func (l Login) Run(ctx context.Context) (file string, err error) {
	back, err := listen(ctx)
	if err != nil {
		return "", err
	}
	defer back.close()
	client := &http.Client{Timeout: limit}
	req, resp, err := l.knock(ctx, client)
	if err != nil {
		return "", err
	}
	vetting := vet(l.Server.URL, resp)
	client.Transport = vetting
	var got *Grant
	handler, err := auth.NewAuthorizationCodeHandler(l.settings(client, back, &got))
	if err != nil {
		_ = resp.Body.Close()
		return "", err
	}
	err = handler.Authorize(ctx, req, resp) // closes the body
	if err := cmp.Or(vetting.Fault(), err); err != nil {
		return "", err
	}
	if got == nil {
		return "", fmt.Errorf("the server refuses without asking for a login: %s", resp.Status)
	}
	return File(l.Folder, l.Server.URL), save(l.Folder, got)
}

// knock asks the server for something without a token, to hear who gives tokens
// for it.
func (l Login) knock(ctx context.Context, client *http.Client) (*http.Request, *http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agenthost","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Server.URL, strings.NewReader(hello))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range l.Server.Headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return req, resp, nil
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	_ = resp.Body.Close()
	if resp.StatusCode < 300 {
		return nil, nil, errors.New("the server wants no login: it answers without a token")
	}
	return nil, nil, fmt.Errorf("the server answers %s: %s", resp.Status, bytes.TrimSpace(said))
}

func (l Login) settings(client *http.Client, back *callback, got **Grant) *auth.AuthorizationCodeHandlerConfig {
	s := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back.url, RequestRefreshToken: true, Client: client,
		AuthorizationCodeFetcher: func(ctx context.Context, to *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return back.wait(ctx, to.URL, l.Show)
		},
		NewTokenSource: func(ctx context.Context, cfg *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			*got = &Grant{
				Server: l.Server.URL, ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret,
				TokenURL: cfg.Endpoint.TokenURL, AuthStyle: cfg.Endpoint.AuthStyle, Scopes: cfg.Scopes, Token: token,
			}
			return cfg.TokenSource(ctx, token), nil
		},
	}
	if id := l.Server.OAuth.ClientID; id != "" {
		s.PreregisteredClient = &oauthex.ClientCredentials{ClientID: id}
		if secret := l.Server.OAuth.ClientSecret; secret != "" {
			s.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
		return s
	}
	s.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		ClientName: "agenthost", RedirectURIs: []string{back.url}, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}}
	return s
}
