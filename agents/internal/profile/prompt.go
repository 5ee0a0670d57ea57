package profile

import (
	"fmt"
	"strings"

	"agenthost/agents"
	"agenthost/llm"
	"agenthost/tools"
)

// system is the system prompt of all runs of an agent, or of one of its
// bindings. What differs least among prompts comes first, and nothing in it
// changes from call to call: so what a provider keeps of one serves the next.
func system(cfg agents.Config, b agents.Binding, box *Toolbox, others *Peers) string {
	var said []string
	for _, part := range []string{cfg.Instructions, b.Prompt, language(b.Language), peers(cfg, box, others), skills(box.Skills)} {
		if part != "" {
			said = append(said, part)
		}
	}
	return strings.Join(said, "\n\n")
}

func language(code string) string {
	if code == "" {
		return ""
	}
	return "Answer in the language with the code " + code + ", whatever language you are written to in."
}

// skills tells a model what it can look up before it sets to work.
func skills(list []tools.Skill) string {
	if len(list) == 0 {
		return ""
	}
	b := strings.Builder{}
	b.WriteString("You have these skills. Before you do what one of them is about, read it with the tool skill:")
	for _, s := range list {
		fmt.Fprintf(&b, "\n- %s: %s", s.Name, s.Description)
	}
	return b.String()
}

// Overhead estimates the tokens of a request besides its messages: of schemas
// and of most languages, three bytes make one.
func Overhead(req llm.Request) int {
	bytes := len(req.System)
	for _, d := range req.Tools {
		bytes += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	return bytes / 3
}
