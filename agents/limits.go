package agents

import (
	"cmp"
	"time"

	"agenthost/run"
)

// Limits bound what one run, and all runs of an agent, may use.
type Limits struct {
	ModelCalls  int           `yaml:"model_calls,omitempty" json:"model_calls,omitempty"` // a run; default 64
	Concurrency int           `yaml:"concurrency,omitempty" json:"concurrency,omitempty"` // runs at once; default 64
	Tools       int           `yaml:"tools,omitempty" json:"tools,omitempty"`             // tools at once in a run; default 8
	RunTimeout  time.Duration `yaml:"run_timeout,omitempty" json:"run_timeout,omitempty"` // default 10m
	// ApprovalTimeout is how long an approval or a question waits for a person;
	// default 24h.
	ApprovalTimeout time.Duration `yaml:"approval_timeout,omitempty" json:"approval_timeout,omitempty"`
	WorkspaceMB     int           `yaml:"workspace_mb,omitempty" json:"workspace_mb,omitempty"` // what its workspace may take; default 2048
	Budget          Budget        `yaml:"budget,omitempty" json:"budget,omitzero"`
}

// The defaults of Limits.
const (
	DefaultModelCalls      = run.DefaultModelCalls
	DefaultConcurrency     = 64
	DefaultTools           = run.DefaultTools
	DefaultRunTimeout      = 10 * time.Minute
	DefaultApprovalTimeout = 24 * time.Hour
	DefaultWorkspaceMB     = 2048
)

// WithDefaults is l with the defaults in place of what is not set.
func (l Limits) WithDefaults() Limits {
	l.ModelCalls = cmp.Or(l.ModelCalls, DefaultModelCalls)
	l.Concurrency = cmp.Or(l.Concurrency, DefaultConcurrency)
	l.Tools = cmp.Or(l.Tools, DefaultTools)
	l.RunTimeout = cmp.Or(l.RunTimeout, DefaultRunTimeout)
	l.ApprovalTimeout = cmp.Or(l.ApprovalTimeout, DefaultApprovalTimeout)
	l.WorkspaceMB = cmp.Or(l.WorkspaceMB, DefaultWorkspaceMB)
	return l
}

// A Budget is money in dollars per span, 0 for no limit.
type Budget struct {
	Run     float64 `yaml:"run,omitempty" json:"run,omitempty"`
	Session float64 `yaml:"session,omitempty" json:"session,omitzero"`
	Day     float64 `yaml:"day,omitempty" json:"day,omitempty"`
	Month   float64 `yaml:"month,omitempty" json:"month,omitempty"`
	PeerDay float64 `yaml:"peer_day,omitempty" json:"peer_day,omitempty"` // of one person, a day
	// Alert are shares of the budgets of a day, a month and a person of which it is
	// told that they are spent; nil: DefaultAlert.
	Alert    []float64 `yaml:"alert,omitempty" json:"alert,omitempty"`
	OnExceed string    `yaml:"on_exceed,omitempty" json:"on_exceed,omitempty"` // fail (default), ask, warn
}

// DefaultAlert is Alert of a Budget that does not say.
func DefaultAlert() []float64 { return []float64{0.5, 0.8} }
