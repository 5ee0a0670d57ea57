package agents

import (
	"time"

	"agenthost/run"
)

// A RunStatus is a run on one host, from the moment in which its session has
// something to do.
type RunStatus struct {
	Agent   string      `json:"agent"`
	Session string      `json:"session"`
	Run     string      `json:"run,omitempty"` // empty before it has begun
	Trigger run.Trigger `json:"trigger,omitempty"`
	Attempt int         `json:"attempt,omitempty"`
	Since   time.Time   `json:"since"`
	Phase   string      `json:"phase"`
	// For is what it waits for: tools by name, and the questions to people.
	For   []string `json:"for,omitempty"`
	Model string   `json:"model,omitempty"` // the entry that is being asked, or was last
}

// The phases of a run besides those of the machine.
const (
	PhaseQueued   = "queued"   // all that its agent may do at once is being done
	PhaseStarting = "starting" // its log is opened, hooks look at its message
	PhaseStoring  = "storing"  // its last commit is on its way
)

// Status is what an agent is doing.
type Status struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Sessions    int      `json:"sessions"`
	InFlight    int      `json:"inflight"`
	Running     int      `json:"running"`
	Queued      int64    `json:"queued"`
	Suspects    int      `json:"suspects,omitempty"`    // runs that may have ended their host, and wait to be tried again
	SpentToday  int64    `json:"spent_today,omitempty"` // in this UTC day, in micro-cents, all hosts together
	SpentMonth  int64    `json:"spent_month,omitempty"` // the same of this month, where the agent has a budget for one
	ShadowOf    string   `json:"shadow_of,omitempty"`
	Paused      string   `json:"paused,omitempty"`  // by whom, since when and why, when it is
	Doors       []string `json:"doors,omitzero"`    // by which programs reach it; nil: all of bus.Doors
	Serving     bool     `json:"serving,omitempty"` // this host brings it its messages, as far as it knows
}
