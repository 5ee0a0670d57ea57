package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/llm"
)

// BreakerSubject is where every host takes models out of service and back.
const BreakerSubject = "agenthost.breaker"

// breakerWithin is what all hosts have to answer within.
const breakerWithin = 5 * time.Second

// A HostModel is a model on a host.
type HostModel struct {
	Host string `json:"host"`
	ModelStatus
}

// Models are the models of all hosts by name, or those with one name.
func (f Fleet) Models(name string) []HostModel {
	list := []HostModel{}
	for _, h := range f {
		for _, m := range h.Models {
			if name == "" || m.Name == name {
				list = append(list, HostModel{h.Host, m})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y HostModel) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// Models asks every host for its models.
func (c *Client) Models(ctx context.Context) ([]HostModel, error) {
	hosts, err := c.EveryHost(ctx)
	return hosts.Models(""), err
}

// A Breaker is what SetBreaker has come to.
type Breaker struct {
	Models []HostModel // with the name, on all hosts, as they are now
	Missed []string    // hosts that have the model and did not do it
}

// TripModel takes a model out of service on all hosts, by its name in the
// configuration, until it is reset. No host that has it is an *UnknownError.
func (c *Client) TripModel(ctx context.Context, name string) (Breaker, error) {
	return c.setBreaker(ctx, name, "trip", llm.Tripped)
}

// ResetModel closes the breaker of a model on all hosts and ends its park.
func (c *Client) ResetModel(ctx context.Context, name string) (Breaker, error) {
	return c.setBreaker(ctx, name, "reset", llm.Closed)
}

func (c *Client) setBreaker(ctx context.Context, name, action string, want llm.State) (Breaker, error) {
	hosts, err := c.patientHosts(ctx, func(Status) bool { return false })
	if err != nil {
		return Breaker{}, err
	}
	if len(hosts) == 0 {
		return Breaker{}, ErrNoHost
	}
	had := hosts.Models(name)
	if len(had) == 0 {
		return Breaker{}, noSuchModel(name, hosts)
	}
	if err := c.orderBreaker(ctx, name, action, len(hosts)); err != nil {
		return Breaker{}, err
	}
	if hosts, err = c.EveryHost(ctx); err != nil {
		return Breaker{}, err
	}
	b := Breaker{Models: hosts.Models(name)}
	for _, m := range had {
		done := func(now HostModel) bool { return now.Host == m.Host && now.Breaker == want }
		if !slices.ContainsFunc(b.Models, done) {
			b.Missed = append(b.Missed, m.Host)
		}
	}
	return b, nil
}

// orderBreaker has all hosts set a breaker. Their status says how many have done
// so: some may not have the model.
func (c *Client) orderBreaker(ctx context.Context, name, action string, hosts int) error {
	data, err := json.Marshal(map[string]string{"model": name, "action": action})
	if err != nil {
		return err
	}
	answers := 0
	err = c.order(ctx, BreakerSubject, data, breakerWithin, func([]byte) (bool, error) {
		answers++
		return answers == hosts, nil
	})
	if err != nil {
		return fmt.Errorf("%s model %q: %w", action, name, err)
	}
	return nil
}

func noSuchModel(name string, hosts Fleet) error {
	var names []string
	for _, m := range hosts.Models("") {
		names = append(names, m.Name)
	}
	return &UnknownError{What: "model", Name: name, Known: slices.Compact(names)}
}

// FullName is the name of the provider and its name for the model.
func (m ModelStatus) FullName() string {
	if m.Model == "" {
		return m.Provider
	}
	return m.Provider + "/" + m.Model
}

// ModelStatus is what a host reports about one of its models.
type ModelStatus struct {
	Name     string   `json:"name"` // in the configuration
	Provider string   `json:"provider"`
	Model    string   `json:"model,omitempty"`  // the provider's name for it
	Agents   []string `json:"agents,omitempty"` // that may ask it, by themselves or on a channel
	llm.GateStatus
	Rate       llm.Rate `json:"rate,omitzero"`
	SpentToday int64    `json:"spent_today,omitempty"` // in this UTC day, in micro-cents, all hosts together
}

// Away is why the model is not asked now, in words; empty when it is.
func (m ModelStatus) Away() string {
	switch {
	case m.Breaker == llm.Tripped:
		return "out of service until its breaker is reset"
	case m.Breaker == llm.Open:
		return "not asked after many failures, until " + m.Until.Format(time.TimeOnly)
	case !m.Parked.IsZero():
		return "not asked after a rate limit, until " + m.Parked.Format(time.TimeOnly)
	}
	return ""
}

// Money writes an amount of micro-cents for people.
func Money(microCents int64) string { return llm.Money(microCents) }
