package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/internal/audit"
	"agenthost/internal/httpauth"
	"agenthost/internal/tokens"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

type (
	// A Token is one of the HTTP listener that was made by command.
	Token = tokens.Token
	// A TokenRole is what a token lets do: admin, read or chat.
	TokenRole = httpauth.Role
)

// TokensSubject is where a host lists the tokens that were made, and the names that its
// configuration has.
const TokensSubject = "agenthost.tokens.ls"

// namesWithin is how long a host may take to say these names.
const namesWithin = 2 * time.Second

// Tokens lists the tokens that were made by command, by name.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := tokens.NewStore(c.js).List(ctx)
	return list, hintBucket(err)
}

// AddToken makes a token of a name, a role, agents and an expiry. It is returned this
// once; NATS keeps its hash. A host that runs is asked which names its configuration has:
// a token with one of these would be refused.
func (c *Client) AddToken(ctx context.Context, want Token) (made Token, token string, err error) {
	within, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	configured, err := c.configuredTokens(within)
	if err == nil && slices.Contains(configured, want.Name) {
		err = tokens.ErrConfigured
	}
	if err != nil {
		return Token{}, "", fmt.Errorf("make the token %s: %w", want.Name, err)
	}
	made, token, err = tokens.NewStore(c.js).Add(within, want)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "tokens-add", Target: made.Name, Detail: string(made.Role)})
	}
	return made, token, hintBucket(err)
}

// configuredTokens are the names of the tokens in the configuration of a host; of an older
// one, of one that hangs, and without any, they are not known.
func (c *Client) configuredTokens(ctx context.Context) ([]string, error) {
	asking, cancel := context.WithTimeout(ctx, namesWithin)
	defer cancel()
	msg, err := c.nc.RequestMsgWithContext(asking, c.request(TokensSubject, nil))
	if errors.Is(err, nats.ErrNoResponders) || asking.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	listing := struct {
		Configured []string `json:"configured"`
	}{}
	switch {
	case err != nil:
	case msg.Header.Get(micro.ErrorCodeHeader) != "":
		err = errors.New(msg.Header.Get(micro.ErrorHeader))
	default:
		err = json.Unmarshal(msg.Data, &listing)
	}
	if err != nil {
		return nil, fmt.Errorf("ask a host which names its configuration has: %w", hintAway(err))
	}
	return listing.Configured, nil
}

// RevokeToken ends a token, on every host at once.
func (c *Client) RevokeToken(ctx context.Context, name string) (Token, error) {
	within, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	t, err := tokens.NewStore(c.js).Revoke(within, name)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "tokens-revoke", Target: name})
	}
	return t, hintBucket(err)
}

// ParseExpiry reads when a token expires: after how long, such as 720h or 30d, or at a
// time or a date.
func ParseExpiry(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 365_000 { // a year of four digits, as JSON has it
			return now.AddDate(0, 0, n), nil
		}
	}
	if in, err := time.ParseDuration(text); err == nil && in > 0 {
		return now.Add(in), nil
	}
	return time.Time{}, fmt.Errorf("expires %q: want how long, such as 720h or 30d, or when, such as 2026-12-31", text)
}
