package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/config"
)

// ReloadSubject is where every host reads its configuration again, and answers
// with what came of it.
const ReloadSubject = "agenthost.reload"

// reloadWithin is what all hosts have to answer within.
const reloadWithin = 35 * time.Second

// A Reloaded is what came of reading the configuration again.
type Reloaded struct {
	Host    string   `json:"host"`
	Changes []string `json:"changes"`           // such as "agent ana: added"; none: it is as before
	Restart []string `json:"restart,omitempty"` // keys that take effect after a restart
	// Refused is what is wrong with it. Then nothing has changed.
	Refused []config.Problem `json:"refused,omitempty"`
	// Error is why the host could not get to the end.
	Error string `json:"error,omitempty"`
}

// Failed reports whether the host goes on with what it had.
func (r Reloaded) Failed() bool { return r.Error != "" || len(r.Refused) > 0 }

// ReadReloaded reads the answer of a host on ReloadSubject.
func ReadReloaded(data []byte) (Reloaded, error) {
	r := Reloaded{}
	err := json.Unmarshal(data, &r)
	return r, err
}

// Reload has the hosts read their configuration again; EveryHost finds them. The
// answers are sorted by host. One that does not answer in time is among them,
// with an error.
func (c *Client) Reload(ctx context.Context, hosts Fleet) ([]Reloaded, error) {
	missing := map[string]bool{}
	for _, h := range hosts {
		missing[h.Host] = true
	}
	var answers []Reloaded
	err := c.order(ctx, ReloadSubject, nil, reloadWithin, func(data []byte) (bool, error) {
		r, err := ReadReloaded(data)
		if err != nil {
			return false, fmt.Errorf("read the answer of a host: %w", err)
		}
		delete(missing, r.Host)
		answers = append(answers, r)
		return len(missing) == 0, nil
	})
	if err != nil {
		return nil, err
	}
	for name := range missing {
		answers = append(answers, Reloaded{Host: name, Changes: []string{}, Error: "no answer; it may be of another version"})
	}
	slices.SortFunc(answers, func(a, b Reloaded) int { return strings.Compare(a.Host, b.Host) })
	return answers, nil
}
