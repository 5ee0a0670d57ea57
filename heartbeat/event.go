package heartbeat

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"
)

// An Event is one entry of an agent's `events:`: what it is told of each
// message on a subject.
type Event struct {
	Subject string  `yaml:"subject" json:"subject"` // wildcards are allowed
	Prompt  string  `yaml:"prompt" json:"prompt"`   // see ParsePrompt
	To      Address `yaml:"to,omitempty" json:"to,omitzero"`
}

// consumerPrefix begins the names of all consumers that are made for events.
const consumerPrefix = "agenthost-event-"

// consumer names what the fleet shares of a subscription: its durable consumer,
// or its queue group.
func (e Event) consumer(agent string) string {
	sum := sha256.Sum256([]byte(e.Subject))
	return consumerPrefix + agent + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:12])
}

// The trees of subjects that are not for events, and why.
var closed = []struct{ filter, why string }{
	{"plugin.>", "messages of plugins come by channels; bind the agent there"},
	{"agent.>", "of the agents' own subjects only agent.events.> can be"},
	{"agenthost.>", "these are requests to hosts"},
	{"_INBOX.>", "these are answers to requests"},
	{"$SYS.>", "these are the server's own"},
	{"$JS.>", "these are the server's own"},
	{"$SRV.>", "these are requests to services"},
	{"$O.>", "these are the pieces of files"},
}

// CheckSubject says why an agent cannot subscribe to subject; nil when it can.
func CheckSubject(agent, subject string) error {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == 0x7f }) ||
			token == ">" && i < len(tokens)-1 || strings.ContainsAny(token, "*>") && len(token) > 1 {
			return errors.New("want a subject such as orders.created.> or $KV.stock.>")
		}
	}
	own := bus.EventsPrefix + agent + ".>"
	if bus.Matches(own, subject) {
		return errors.New("an agent does not get its own events; want those of another")
	}
	if bus.Matches(bus.EventsPrefix+">", subject) {
		return nil
	}
	for _, c := range closed {
		if bus.Overlap(c.filter, subject) {
			return fmt.Errorf("it reaches into %s: %s", c.filter, c.why)
		}
	}
	if tokens[0] == "$KV" && (len(tokens) < 3 || tokens[1] == "*" || strings.HasPrefix(tokens[1], "AGENT_")) {
		return errors.New("want one bucket, not one that hosts use, such as $KV.stock.>")
	}
	return nil
}
