package profile

import (
	"agenthost/agents"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/llm/echo"
	"agenthost/tools"
)

// CanarySubject is where canaries come in.
const CanarySubject = bus.InboundPrefix + bus.DoorProbe

// echoModel names the model that answers canaries, in their logs.
const echoModel = "echo"

// newCanary is what the runs of canaries of an agent go by: the model echo, which costs
// nothing, without instructions, tools, notes, budgets and the agent's behaviour.
func newCanary(cfg agents.Config, of *Profile) *Profile {
	bare := agents.Config{ID: cfg.ID, Language: cfg.Language, Limits: agents.Limits{}.WithDefaults()}
	bare.Limits.Concurrency = cfg.Limits.Concurrency
	chain := &llm.Chain{Links: []llm.Link{{Name: echoModel, Model: echoModel, Provider: echo.New()}}}
	kit := Kit{Chain: chain, Box: &Toolbox{Registry: tools.NewRegistry(), Validator: new(tools.Validator)}}
	p := oneProfile(bare, kit, agents.Binding{}, nil)
	p.Bindings = of.Bindings
	p.Models = func([]string) (*llm.Chain, error) { return chain, nil }
	return p
}
