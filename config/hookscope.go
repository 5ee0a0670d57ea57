package config

import (
	"fmt"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/internal/yamldoc"
)

// checkHookScopes checks the agents and channels that hooks are narrowed to: a
// name that nothing has would turn its hook off without a word.
func (k *checker) checkHookScopes() {
	channels := k.boundChannels()
	for i, h := range k.c.Hooks {
		at := fmt.Sprintf("hooks[%d]", i)
		for j, id := range h.Agents {
			if p := fmt.Sprintf("%s.agents[%d]", at, j); k.ids != nil && !slices.Contains(k.ids, id) {
				k.Fault(p, "there is no agent %s; %s", k.Quote(p), yamldoc.Suggest(id, k.ids))
			}
		}
		for j, name := range h.Channels {
			if p := fmt.Sprintf("%s.channels[%d]", at, j); k.ids != nil && !k.bound(name, channels) {
				k.Fault(p, "no agent is bound to the channel %s; %s", k.Quote(p), yamldoc.Suggest(name, channels))
			}
		}
	}
}

// boundChannels are the channels that agents are bound to, by themselves and
// with their instances.
func (k *checker) boundChannels() []string {
	names := map[string]bool{}
	for _, a := range k.c.Agents {
		for _, b := range a.Channels {
			names[b.Channel] = true
			if b.Instance != "" && b.Instance != "*" {
				names[b.Channel+"."+b.Instance] = true
			}
		}
	}
	return sorted(names)
}

// bound reports whether messages of a channel, or of an instance of one, reach
// an agent.
func (k *checker) bound(name string, channels []string) bool {
	channel, instance, _ := strings.Cut(name, ".")
	if slices.Contains(channels, name) {
		return true
	}
	return token.MatchString(instance) && slices.ContainsFunc(k.c.Agents, func(a Agent) bool {
		return slices.ContainsFunc(a.Channels, func(b agents.Binding) bool { return b.Channel == channel && b.Instance == "*" })
	})
}
