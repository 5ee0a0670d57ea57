package hooks

import (
	"iter"
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
			{"timeout", c.Timeout >= 0, "want a duration above 0, such as 500ms"},
			{"fail", slices.Contains([]string{"", FailOpen, FailClosed}, c.Fail), "want open or closed"},
		} {
			if !rule.holds && !yield(rule.key, rule.fault) {
				return
			}
		}
	}
}

func validSubject(subject string) bool {
	for token := range strings.SplitSeq(subject, ".") {
		bad := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' || r == '>' }
		if token == "" || strings.ContainsFunc(token, bad) {
			return false
		}
	}
	return true
}
