package hooks

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Config is one entry of `hooks:`: a remote hook, any NATS responder.
type Config struct {
	On       string        `yaml:"on" json:"on"`
	Subject  string        `yaml:"subject" json:"subject"`
	Priority int           `yaml:"priority,omitempty" json:"priority,omitempty"`
	Timeout  time.Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"` // default 5s
	Fail     string        `yaml:"fail,omitempty" json:"fail,omitempty"`       // open (default) or closed
	// Agents and Channels narrow the hook to calls of these agents, and to sessions
	// of these channels, each as <channel> or <channel>.<instance>; nil: all.
	Agents   []string `yaml:"agents,omitempty" json:"agents,omitempty"`
	Channels []string `yaml:"channels,omitempty" json:"channels,omitempty"`
}

// Equal reports whether other is the same hook.
func (c Config) Equal(other Config) bool { return reflect.DeepEqual(c, other) }

// only is the condition under which the hook is called, nil when there is none.
func (c Config) only() func(agent, session string) bool {
	if len(c.Agents) == 0 && len(c.Channels) == 0 {
		return nil
	}
	return func(agent, session string) bool {
		return (len(c.Agents) == 0 || slices.Contains(c.Agents, agent)) &&
			(len(c.Channels) == 0 || slices.ContainsFunc(c.Channels, func(name string) bool { return isOf(session, name) }))
	}
}

// isOf reports whether a session, by its key, is one of a channel: the part of
// the key before the first slash is <channel> or <channel>.<instance>. The
// channel alone stands for all of its instances.
func isOf(session, channel string) bool {
	place, _, _ := strings.Cut(session, "/")
	name, _, _ := strings.Cut(place, ".")
	return place == channel || name == channel
}

// The values of [Config.Fail].
const (
	FailOpen   = "open"
	FailClosed = "closed"
)

// Check yields every fault of c as the key it is under and what would be
// right. It names no value, so that the caller can quote it as it was written.
func (c Config) Check() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, rule := range []struct {
			key   string
			holds bool
			fault string
		}{
			{"on", slices.Contains(points, c.On), "want one of " + strings.Join(points, ", ")},
			{"subject", validSubject(c.Subject), "want a NATS subject without wildcards, such as acme.moderate"},
			{"subject", len(c.Subject) <= longestSubject, fmt.Sprintf("want %d bytes at most", longestSubject)},
			{"timeout", c.Timeout >= 0, "want a duration above 0, such as 500ms"},
			{"fail", slices.Contains([]string{"", FailOpen, FailClosed}, c.Fail), "want open or closed"},
		} {
			if !rule.holds && !yield(rule.key, rule.fault) {
				return
			}
		}
	}
}

// longestSubject is as long as the subjects of others may be that a host publishes on.
const longestSubject = 255

func validSubject(subject string) bool {
	for token := range strings.SplitSeq(subject, ".") {
		bad := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' || r == '>' }
		if token == "" || strings.ContainsFunc(token, bad) {
			return false
		}
	}
	return true
}
