package profile

import (
	"agenthost/agents"
	"agenthost/llm"
	"agenthost/run"
)

// A Prompt is what an agent's model is sent besides the conversation.
type Prompt struct {
	Host         Size `json:"host"` // what is neither the instructions nor a tool
	Instructions Size `json:"instructions"`
	Tools        Size `json:"tools"`
}

// A Size is that of a part of a prompt; its tokens are an estimate.
type Size struct {
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// Measure is what each call of an agent's model begins with, with the tools of
// box that are known now, for a binding without words of its own.
func Measure(cfg agents.Config, box *Toolbox, peers *Peers) Prompt {
	whole := size(llm.Request{System: system(cfg, agents.Binding{}, box, peers)})
	p := Prompt{
		Instructions: size(llm.Request{System: cfg.Instructions}),
		Tools:        size(llm.Request{Tools: box.Defs(), Schema: box.Output}),
	}
	p.Host = Size{Bytes: whole.Bytes - p.Instructions.Bytes, Tokens: whole.Tokens - p.Instructions.Tokens}
	return p
}

// Total is the sum of the shares.
func (p Prompt) Total() Size {
	return Size{
		Bytes:  p.Host.Bytes + p.Instructions.Bytes + p.Tools.Bytes,
		Tokens: p.Host.Tokens + p.Instructions.Tokens + p.Tools.Tokens,
	}
}

func size(req llm.Request) Size {
	bytes := len(req.System) + len(req.Schema)
	for _, d := range req.Tools {
		bytes += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	return Size{Bytes: bytes, Tokens: run.EstimateRequest(req)}
}
