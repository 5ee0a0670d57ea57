package config

import (
	"fmt"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
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

func (k *checker) checkHooks() {
	count := make(map[string]int)
	for i, h := range k.c.Hooks {
		if count[h.On]++; count[h.On] == hooks.MaxPerName+1 {
			at := k.NodeAt(fmt.Sprintf("hooks[%d]", i)).At
			text := fmt.Sprintf("more than %d hooks on %s; the host leaves out this one and those after it", hooks.MaxPerName, h.On)
			k.c.HookFaults = append(k.c.HookFaults, at.Problem(text))
		}
		subject := h.Subject
		for key, fault := range h.Check() {
			if key == "subject" {
				subject = "" // no more is said of it
			}
			path := fmt.Sprintf("hooks[%d].%s", i, key)
			if near := yamldoc.Nearest(h.On, hooks.Points()); key == "on" && near != "" {
				fault += fmt.Sprintf("; did you mean %q?", near)
			}
			if k.Set(path) {
				k.Fault(path, "%s %s: %s", key, k.Quote(path), fault)
			} else {
				k.Fault(path, "the hook has no %s; %s", key, fault)
			}
		}
		if h.Fail == hooks.FailClosed && slices.Contains(hooks.Points(), h.On) && !hooks.CanFailClosed(h.On) {
			k.warn(fmt.Sprintf("hooks[%d].fail", i), "fail closed has no effect at %s, where nothing can be stopped any more; take it out, or use a before_ point or after_tool_call", h.On)
		}
		if subject != "" && !bus.Publishable(subject) { // a stream or a host would answer
			path := fmt.Sprintf("hooks[%d].subject", i)
			k.Fault(path, "subject %s: what begins with agenthost., agent., plugin. or $ is of hosts and of NATS; want one of the responder's own, such as acme.moderate", k.Quote(path))
		}
	}
}
