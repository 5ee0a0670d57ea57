package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"agenthost/session"
)

// ParseParty reads the name of a session, in which from talks, or a key such as
// route/cli/apples, which names both. The key of another channel is a *NameError:
// its chat goes on where it is.
func ParseParty(text, from string) (Party, error) {
	rest, route := strings.CutPrefix(text, "route/")
	if !route {
		if _, err := session.ID("a", text); err == nil {
			return Party{}, &NameError{fmt.Errorf("session %q belongs to a chat and can only be continued there; want a name, or a key such as route/cli/apples", text)}
		}
		return Party{from, text}, nil
	}
	wrong := &NameError{fmt.Errorf("session %q: want a name, or a key such as route/cli/apples", text)}
	who, name, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(name, "/") || name == "" {
		return Party{}, wrong
	}
	who, failed := url.PathUnescape(who)
	name, bad := url.PathUnescape(name)
	if errors.Join(failed, bad) != nil || who == "" {
		return Party{}, wrong
	}
	return Party{who, name}, nil
}

// mostParties is how many sessions of an agent are looked at for the last one.
const mostParties = 1000

// LastParty is the last session in which from has talked to an agent; ok is false
// when there is none.
func (c *Client) LastParty(ctx context.Context, agent, from string) (p Party, ok bool, err error) {
	list, err := c.Sessions().List(ctx, SessionPage{Agent: agent, Limit: mostParties})
	if err != nil {
		return Party{}, false, err
	}
	mine := RouteKey(from, "")
	for _, s := range list.Sessions {
		if strings.HasPrefix(string(s.Key), mine) {
			p, err = ParseParty(string(s.Key), from)
			return p, err == nil, err
		}
	}
	return Party{}, false, nil
}
