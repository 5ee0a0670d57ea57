package agents

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// Config is one entry of `agents:`.
type Config struct {
	ID           string `yaml:"id" json:"id"`
	Description  string `yaml:"description,omitempty" json:"description,omitempty"`
	Model        Names  `yaml:"model,omitempty" json:"model,omitempty"`       // a fallback chain, first to last
	Behavior     string `yaml:"behavior,omitempty" json:"behavior,omitempty"` // one that the program has registered
	Instructions string `yaml:"instructions,omitempty" json:"instructions,omitempty"`
	// InstructionFiles are texts below the folder of the configuration; what they
	// say has been added to Instructions when the configuration is loaded.
	InstructionFiles []string  `yaml:"instruction_files,omitempty" json:"instruction_files,omitempty"`
	Skills           []string  `yaml:"skills,omitempty" json:"skills,omitempty"` // names or globs of folders in skills/
	Channels         []Binding `yaml:"channels,omitempty" json:"channels,omitempty"`
	ShadowOf         string    `yaml:"shadow_of,omitempty" json:"shadow_of,omitempty"` // see shadow.go
	Tools            []string  `yaml:"tools,omitempty" json:"tools,omitempty"`
	Delegates        []string  `yaml:"delegates,omitempty" json:"delegates,omitempty"`
	Accepts          []string  `yaml:"accepts,omitempty" json:"accepts,omitempty"`
	// Approvers are who may approve what the agent asks, from whichever chat, each as
	// <channel>[.<instance>]/<from>; none: the chat that was asked.
	Approvers    []string            `yaml:"approvers,omitempty" json:"approvers,omitempty"`
	Permissions  map[string]string   `yaml:"permissions,omitempty" json:"permissions,omitempty"`
	Sandbox      tools.SandboxConfig `yaml:"sandbox,omitempty" json:"sandbox,omitzero"` // of its commands
	Session      session.Config      `yaml:"session,omitempty" json:"session,omitzero"`
	Retention    Retention           `yaml:"retention,omitempty" json:"retention,omitzero"`
	Limits       Limits              `yaml:"limits,omitempty" json:"limits,omitzero"`
	HoldStream   bool                `yaml:"hold_stream,omitempty" json:"hold_stream,omitempty"`     // nothing is streamed before after_model_call
	OutputSchema map[string]any      `yaml:"output_schema,omitempty" json:"output_schema,omitempty"` // JSON Schema of every answer
	// Language is that of what the host itself says to people for the agent, such as de
	// or pt-BR; default English.
	Language string `yaml:"language,omitempty" json:"language,omitempty"`
	// Texts are sentences of its own in place of the host's, by their keys.
	Texts      map[string]string `yaml:"texts,omitempty" json:"texts,omitempty"`
	Partitions int               `yaml:"partitions,omitempty" json:"partitions,omitempty"`
}

// A Binding is an agent's claim on a channel. In YAML a plain string is the
// channel alone.
type Binding struct {
	Channel  string        `yaml:"channel" json:"channel"`
	Instance string        `yaml:"instance,omitempty" json:"instance,omitempty"` // empty: the bare subject; "*": every instance
	Queue    session.Queue `yaml:"queue,omitempty" json:"queue,omitempty"`       // empty: the agent's
	Debounce time.Duration `yaml:"debounce,omitempty" json:"debounce,omitempty"` // collect: how long to wait for more
	// DebounceMax is how long the first waits at most, whatever still comes; default 5
	// times Debounce.
	DebounceMax time.Duration `yaml:"debounce_max,omitempty" json:"debounce_max,omitempty"`
	Stale       Stale         `yaml:"stale,omitempty" json:"stale,omitzero"`

	// The rest is for the runs of this binding alone. Of tools and limits it
	// only takes away.
	Tools    []string      `yaml:"tools,omitempty" json:"tools,omitempty"`       // of the agent's; nil: all of them
	Model    Names         `yaml:"model,omitempty" json:"model,omitempty"`       // in place of the agent's
	Prompt   string        `yaml:"prompt,omitempty" json:"prompt,omitempty"`     // behind the instructions
	Language string        `yaml:"language,omitempty" json:"language,omitempty"` // of the answers, such as fr or pt-BR
	Limits   BindingLimits `yaml:"limits,omitempty" json:"limits,omitzero"`
}

// Overrides reports whether runs of the binding differ from others.
func (b Binding) Overrides() bool {
	return b.Tools != nil || len(b.Model) > 0 || b.Prompt != "" || b.Language != "" || b.Limits != BindingLimits{}
}

// BindingLimits bound the runs of a binding, where they are below those of its
// agent.
type BindingLimits struct {
	ModelCalls      int           `yaml:"model_calls,omitempty" json:"model_calls,omitempty"`
	Tools           int           `yaml:"tools,omitempty" json:"tools,omitempty"`
	RunTimeout      time.Duration `yaml:"run_timeout,omitempty" json:"run_timeout,omitempty"`
	ApprovalTimeout time.Duration `yaml:"approval_timeout,omitempty" json:"approval_timeout,omitempty"`
	Budget          BindingBudget `yaml:"budget,omitempty" json:"budget,omitzero"`
}

// A BindingBudget is what of a Budget a binding may have less of. The day's is
// for all runs of the agent together.
type BindingBudget struct {
	Run     float64 `yaml:"run,omitempty" json:"run,omitempty"`
	Session float64 `yaml:"session,omitempty" json:"session,omitempty"`
}

// UnmarshalText reads the short form.
func (b *Binding) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty channel")
	}
	*b = Binding{Channel: string(text)}
	return nil
}

// Retention is how long what an agent has done is kept.
type Retention struct {
	Sessions time.Duration `yaml:"sessions,omitempty" json:"sessions,omitempty"` // after the last message; 0: for ever
}

// Names is a list that may be written as one plain string.
type Names []string

// UnmarshalText reads the short form.
func (n *Names) UnmarshalText(text []byte) error {
	*n = Names{string(text)}
	return nil
}

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

// narrow is l, with what b has less of.
func (l Limits) narrow(b BindingLimits) Limits {
	l.ModelCalls = less(b.ModelCalls, l.ModelCalls)
	l.Tools = less(b.Tools, l.Tools)
	l.RunTimeout = less(b.RunTimeout, l.RunTimeout)
	l.ApprovalTimeout = less(b.ApprovalTimeout, l.ApprovalTimeout)
	l.Budget.Run = less(b.Budget.Run, l.Budget.Run)
	l.Budget.Session = less(b.Budget.Session, l.Budget.Session)
	return l
}

// less is the smaller of two bounds, of which 0 is none.
func less[N int | time.Duration | float64](n, most N) N {
	if n == 0 || most == 0 {
		return max(n, most)
	}
	return min(n, most)
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

// alerts are the shares, the lowest first.
func (b Budget) alerts() []float64 {
	if b.Alert == nil {
		return DefaultAlert()
	}
	return slices.Sorted(slices.Values(b.Alert))
}
