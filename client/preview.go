package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/agents"

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
