package config

import (
	"fmt"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/internal/identity"
	"agenthost/internal/yamldoc"
	"agenthost/session"
)

// checkIdentities checks which accounts are said to be one person's.
func (k *checker) checkIdentities() {
	of := map[session.Key]string{}
	for _, name := range sorted(k.c.Identities) {
		at := yamldoc.Join("identities", name)
		person := k.c.Identities[name]
		list := at
		if k.Set(at + ".accounts") {
			list += ".accounts"
		}
		if len(person.Accounts) < 2 && !k.Failed(at) && !k.Failed(list) {
			k.FaultKey(at, "identity %s joins accounts, so it wants two or more, such as %s: [telegram.sales/42, email/ana@shop.test]", name, name)
		}
		for i, account := range person.Accounts {
			p := fmt.Sprintf("%s[%d]", list, i)
			key, err := identity.Direct(account)
			other, taken := of[key]
			switch {
			case err != nil:
				k.Fault(p, "%v", err)
			case taken && other == name:
				k.Fault(p, "account %s is there twice; keep one", account)
			case taken:
				k.Fault(p, "account %s is %s's already; an account is of one person", account, other)
			default:
				of[key] = name
			}
			if channel, _, _ := strings.Cut(account, "/"); err == nil && !k.received(channel) {
				k.warn(p, "no agent is bound to %s, so no message comes from account %s; bind one, or take the account out", channel, account)
			}
		}
	}
}

// received reports whether an agent is bound to <channel>[.<instance>], or may be.
func (k *checker) received(place string) bool {
	return len(k.bindingsTo(place)) > 0 || k.ids == nil || k.partial
}

// bindingsTo are those of all agents that take the messages of an account.
func (k *checker) bindingsTo(place string) (list []agents.Binding) {
	channel, instance, _ := strings.Cut(place, ".")
	for _, a := range k.c.Agents {
		for _, b := range a.Channels {
			if b.Channel == channel && (b.Instance == instance || b.Instance == "*" && instance != "") {
				list = append(list, b)
			}
		}
	}
	return list
}

// denied reports whether no agent that is bound to an account takes anything of a sender.
func (k *checker) denied(place, from string) bool {
	list := k.bindingsTo(place)
	return len(list) > 0 && !slices.ContainsFunc(list, func(b agents.Binding) bool { return !slices.Contains(b.Senders.Deny, from) })
}
