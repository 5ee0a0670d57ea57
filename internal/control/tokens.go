package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agenthost/client"
	"agenthost/internal/tokens"
)

// A TokenListing is the tokens that were made by command, and the names that no such token
// may have.
type TokenListing struct {
	Tokens     []client.Token `json:"tokens"`
	Configured []string       `json:"configured" doc:"names of http.tokens, which no token that is made may have"`
}

func (h Host) tokens(ctx context.Context, _ none) (TokenListing, error) {
	list, err := tokens.NewStore(h.JS).List(ctx)
	return TokenListing{notNil(list), notNil(h.TokenNames)}, err
}

// A TokenRequest says which token to make.
type TokenRequest struct {
	Name    string   `json:"name" doc:"1 to 63 of a-z, 0-9, _ and -"`
	Role    string   `json:"role" doc:"admin, read or chat"`
	Agents  []string `json:"agents,omitempty" doc:"those it is good for; none: all"`
	Expires string   `json:"expires,omitempty" doc:"after how long, such as 720h, or when, as 2026-12-31T00:00:00Z; empty: never"`
}

// Token is what is wanted.
func (r TokenRequest) token(by string) (client.Token, error) {
	t := client.Token{Name: r.Name, Role: client.TokenRole(r.Role), Agents: r.Agents, By: by}
	if r.Expires == "" {
		return t, nil
	}
	at, err := client.ParseExpiry(r.Expires, time.Now())
	if err != nil {
		return t, coded(client.CodeBad, "%w", err)
	}
	t.Expires = at
	return t, nil
}

// A MadeToken is a token with what it is; it is shown once.
type MadeToken struct {
	client.Token
	Secret string `json:"token"`
}

func (h Host) addToken(ctx context.Context, r TokenRequest) (MadeToken, error) {
	want, err := r.token(callerOf(ctx).by(""))
	if err != nil {
		return MadeToken{}, err
	}
	if slices.Contains(h.TokenNames, want.Name) {
		return MadeToken{}, fmt.Errorf("make the token %s: %w", want.Name, tokens.ErrConfigured)
	}
	made, secret, err := tokens.NewStore(h.JS).Add(ctx, want)
	return MadeToken{made, secret}, err
}

// A TokenName names a token.
type TokenName struct {
	Name string `json:"name"`
}

func (h Host) revokeToken(ctx context.Context, n TokenName) (client.Token, error) {
	return tokens.NewStore(h.JS).Revoke(ctx, n.Name)
}
