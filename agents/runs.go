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
	Inputs  []string    `json:"inputs,omitempty"` // the ids of the messages that it answers, MostInputs at most
	Since   time.Time   `json:"since"`
	Phase   string      `json:"phase"`
	// For is what it waits for: tools by name, and the questions to people.
	For   []string `json:"for,omitempty"`
	Model string   `json:"model,omitempty"` // the entry that is being asked, or was last
}

// MostInputs is how many messages of a run a RunStatus names, the newest.
const MostInputs = 32

// The phases of a run besides those of the machine.
const (
	PhaseQueued   = "queued"   // all that its agent may do at once is being done
	PhaseStarting = "starting" // its log is opened, hooks look at its message
	PhaseStoring  = "storing"  // its last commit is on its way
)
