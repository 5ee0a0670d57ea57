package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agenthost/agents"
	"agenthost/heartbeat"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// PromptSubject is where a host answers with what the model of an agent gets.
const PromptSubject = "agenthost.prompt"

type (
	// Preview is what the model of an agent gets, see agents.Preview.
	Preview = agents.Preview
	// PreviewTool is a tool as that model gets it.
	PreviewTool = agents.PreviewTool
)

// A PreviewRequest is the request on PromptSubject.
type PreviewRequest struct {
	Agent string `json:"agent"`
}

// Preview asks a host what it sends to the model of an agent with each call,
// besides the conversation. Secrets of the configuration are masked.
func (c *Client) Preview(ctx context.Context, agent string) (Preview, error) {
	within, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	p := Preview{}
	data, err := json.Marshal(PreviewRequest{Agent: agent})
	if err != nil {
		return p, err
	}
	msg, err := c.nc.RequestWithContext(within, PromptSubject, data)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return p, ErrNoHost
	case err != nil:
		return p, fmt.Errorf("show %s: %w", agent, err)
	case msg.Header.Get(micro.ErrorCodeHeader) == CodeNotFound:
		hosts, err := c.Hosts(ctx)
		if err == nil {
			err = &UnknownError{What: "agent", Name: agent, Known: hosts.Agents()}
		}
		return p, err
	case msg.Header.Get(micro.ErrorCodeHeader) != "":
		return p, fmt.Errorf("show %s: %s", agent, msg.Header.Get(micro.ErrorHeader))
	}
	return p, json.Unmarshal(msg.Data, &p)
}

// Agents are the ids of the agents that any of the hosts serves.
func (f Fleet) Agents() []string {
	var ids []string
	for _, h := range f {
		for _, a := range h.Agents {
			ids = append(ids, a.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A ServedAgent is an agent with the numbers of all hosts.
type ServedAgent struct {
	AgentStatus
	Serving []string // hosts that bring it its messages
	Able    []string // hosts that could
}

// Served are the agents of a fleet, in the order of the first host that has them.
func (f Fleet) Served() []*ServedAgent {
	var list []*ServedAgent
	known := map[string]*ServedAgent{}
	for _, h := range f {
		for _, a := range h.Agents {
			s := known[a.ID]
			if s == nil {
				s = &ServedAgent{AgentStatus: a}
				known[a.ID] = s
				list = append(list, s)
			} else {
				s.add(a)
			}
			s.Able = append(s.Able, h.Host)
			if a.Serving {
				s.Serving = append(s.Serving, h.Host)
			}
		}
	}
	return list
}

// add adds what another host reports about the agent. Money and heartbeats are
// those of the fleet already.
func (s *ServedAgent) add(a AgentStatus) {
	s.Sessions += a.Sessions
	s.Running += a.Running
	s.Queued += a.Queued
	s.Suspects += a.Suspects
	if s.State == "ready" {
		s.State = a.State
	}
}

// Heartbeats counts the ticks of an agent.
type Heartbeats = heartbeat.Count

// AgentStatus is what a host reports about one of its agents.
type AgentStatus struct {
	agents.Status
	State  string `json:"state"`            // ready, degraded or quarantined
	Reason string `json:"reason,omitempty"` // why it is not ready
	// Heartbeat counts its ticks, in the whole fleet; nil when it has had none.
	Heartbeat *Heartbeats `json:"heartbeat,omitempty"`
}
