package agents

import "time"

// Senders is the `senders:` of a binding: who may write to the agent there. The
// zero value lets everybody.
type Senders struct {
	// Allow are the only ones who may, besides those that Pairing lets; nil: everybody
	// may, or with Pairing nobody else.
	Allow []string `yaml:"allow,omitempty" json:"allow,omitempty"`
	// Deny may not, whatever Allow and Pairing say.
	Deny []string `yaml:"deny,omitempty" json:"deny,omitempty"`
	// Pairing gives strangers a code with which the operator lets them.
	Pairing bool `yaml:"pairing,omitempty" json:"pairing,omitempty"`
}

// Rate is the `rate:` of a binding: how many messages of one sender the agent works
// on in a time. The zero value has no limit.
type Rate struct {
	Messages int           `yaml:"messages,omitempty" json:"messages,omitempty"`
	Per      time.Duration `yaml:"per,omitempty" json:"per,omitempty"`
	Over     string        `yaml:"over,omitempty" json:"over,omitempty"` // wait (default) or refuse
}

// What Rate.Over can be.
const (
	RateWait   = "wait"
	RateRefuse = "refuse"
)
