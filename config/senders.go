package config

import (
	"fmt"
	"slices"

	"agenthost/agents"
)

// checkSenders checks who may write on a binding.
func (k *checker) checkSenders(at string, s agents.Senders) {
	if s.Allow != nil && len(s.Allow) == 0 && !s.Pairing {
		k.Fault(at+".allow", "allow is empty, so every sender is refused; add a sender or pairing: true, or take allow out")
	}
	for _, list := range []struct {
		key   string
		names []string
	}{{"allow", s.Allow}, {"deny", s.Deny}} {
		for i, name := range list.names {
			p := fmt.Sprintf("%s.%s[%d]", at, list.key, i)
			if name == "" {
				k.Fault(p, "an empty name; want what the channel puts into from, such as \"42\"")
				continue
			}
			if slices.Contains(list.names[:i], name) {
				k.Fault(p, "%s is there twice; keep one", k.Quote(p))
			}
			if list.key == "allow" && slices.Contains(s.Deny, name) {
				k.Fault(p, "%s is in deny as well, which goes first; take one out", k.Quote(p))
			}
		}
	}
}

// checkRate checks how much a sender may write on a binding.
func (k *checker) checkRate(at string, r agents.Rate) {
	if r == (agents.Rate{}) {
		return
	}
	if r.Messages < 0 || r.Messages == 0 && !k.Failed(at+".messages") {
		k.Fault(at, "rate without messages: want rate: {messages: 20, per: 1m}")
	}
	if r.Per < 0 || r.Per == 0 && !k.Failed(at+".per") {
		k.Fault(at, "rate without per: want rate: {messages: 20, per: 1m}")
	}
	k.oneOf(at+".over", r.Over, agents.RateWait, agents.RateRefuse)
}
