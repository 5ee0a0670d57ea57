package config

import (
	"maps"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/internal/yamldoc"
	"agenthost/plugins/settings"
)

// checkPlugins checks the accounts of channels.
func (k *checker) checkPlugins() {
	maps.DeleteFunc(k.c.Plugins.Own, func(_ string, accounts map[string]settings.Own) bool { return len(accounts) == 0 })
	if len(k.c.Plugins.Own) == 0 {
		k.c.Plugins.Own = nil
	}
	first := make(map[string]settings.Entry) // by the name of what delivers its replies
	for _, e := range k.c.Plugins.Entries() {
		path := "plugins." + e.Key
		k.checkAccountName(path, e)
		k.checkAccount(path, e)
		if e.Settings.Receives() && k.c.HTTP.Listen == "" && k.Set("http.listen") {
			k.FaultKey(path, "%s %s receives requests, and http.listen is empty; set it, such as %s", what(e), e.Name(), DefaultListen)
		}
		consumer := strings.ReplaceAll(e.Name(), ".", "-")
		if other, ok := first[consumer]; ok {
			k.FaultKey(path, "%s and %s have the same consumer, plugin-%s; want another name for one of them", other.Name(), e.Name(), consumer)
		}
		first[consumer] = e
	}
}

// what is said of an account.
func what(e settings.Entry) string {
	if e.Instance == "" {
		return "channel"
	}
	return "account"
}

// checkAccountName checks what becomes a token of subjects.
func (k *checker) checkAccountName(path string, e settings.Entry) {
	_, last, _ := strings.Cut(e.Key, ".")
	switch {
	case last == "": // web
	case !token.MatchString(last):
		k.FaultKey(path, "%s %q: %s", what(e), last, wantToken)
	case e.Instance == "" && slices.Contains(settings.Channels(), e.Channel):
		k.FaultKey(path, "channel %q comes with agenthost; want another name", e.Channel)
	}
}

// checkAccount checks the settings of an account.
func (k *checker) checkAccount(path string, e settings.Entry) {
	for key, fault := range e.Settings.Check() {
		if at := yamldoc.Join(path, key); !k.Set(at) || k.NodeAt(at).Value == "" && !strings.HasPrefix(fault, "want") {
			k.Fault(at, "%s %s has no %s; add %s:, %s", what(e), e.Name(), key, key, fault)
		} else if secretKey.MatchString(key) {
			k.Fault(at, "%s: %s", key, fault)
		} else {
			k.Fault(at, "%s %s: %s", k.Key(at), k.Quote(at), fault)
		}
	}
}

// accounts are the instances of each channel that has accounts; the instance of a
// channel without several is empty.
func (k *checker) accounts() map[string][]string {
	table := make(map[string][]string)
	for _, e := range k.c.Plugins.Entries() {
		table[e.Channel] = append(table[e.Channel], e.Instance)
	}
	return table
}

// checkBindingAccount warns of a binding by which nothing comes: its channel has
// accounts, and none of that name. A channel that another program serves has none
// at all.
func (k *checker) checkBindingAccount(at string, b agents.Binding) {
	instances := k.accounts()[b.Channel]
	if len(instances) == 0 || slices.ContainsFunc(instances, func(instance string) bool { return Takes(b, instance) }) {
		return
	}
	switch {
	case slices.Contains(instances, ""):
		k.warn(at, "channel %s has no instances; take instance out", b.Channel)
	case b.Instance == "":
		k.warn(at, `a binding without instance takes nothing of the accounts of %s; add instance: %s, or "*"`, b.Channel, yamldoc.Alternatives(instances))
	default:
		k.warn(at+".instance", "plugins.%s has no account %q; %s", b.Channel, b.Instance, yamldoc.Suggest(b.Instance, instances))
	}
}

// checkBound warns of accounts whose messages no agent gets.
func (k *checker) checkBound() {
	if k.partial || k.Failed("agents") || k.Failed("plugins") {
		return
	}
	for _, e := range k.c.Plugins.Entries() {
		bound := slices.ContainsFunc(k.c.Agents, func(a Agent) bool {
			return slices.ContainsFunc(a.Channels, func(b agents.Binding) bool {
				return b.Channel == e.Channel && Takes(b, e.Instance)
			})
		})
		if bound {
			continue
		}
		binding := e.Channel
		if e.Instance != "" {
			binding = "{channel: " + e.Channel + ", instance: " + e.Instance + "}"
		}
		if key := k.KeyNode("plugins." + e.Key); key != nil {
			k.c.Warnings = append(k.c.Warnings, key.At.Problem("no agent is bound to "+e.Name()+", so its messages get no answer; add "+binding+" to channels of an agent"))
		}
	}
}

// Takes reports whether a binding to a channel takes what comes from an instance;
// empty: from the channel without one.
func Takes(b agents.Binding, instance string) bool {
	return b.Instance == instance || b.Instance == "*" && instance != ""
}
