package client

import (
	"encoding/json"
	"time"

	"agenthost/agents"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/llm"
)

// StatusSubject is where every host of the fleet answers with its Status.
const StatusSubject = "agenthost.status"

// Status is what a host reports about itself.
type Status struct {
	Host    string       `json:"host"`
	Version string       `json:"version"`
	State   string       `json:"state"` // ready, degraded, or why not
	Started time.Time    `json:"started"`
	Serving int          `json:"serving"` // lanes that this host serves
	Lanes   int          `json:"lanes"`   // lanes that it could
	Weight  int          `json:"weight"`  // its share of the lanes beside those of other hosts
	Share   int          `json:"share"`   // how many lanes it is to serve, by their numbers
	Placed  []int        `json:"placed"`  // the numbers of those that it serves, or would if anything came
	Serves  []LaneStatus `json:"serves"`  // the lanes that this host serves
	// Partitions are those of hot agents that this host serves.
	Partitions []PartitionStatus `json:"partitions,omitempty"`
	Agents     []AgentStatus     `json:"agents"`
	Models     []ModelStatus     `json:"models,omitempty"`
	// ToolFaults are the tools that are left out, and sources that cannot be
	// reached, in words.
	ToolFaults []string `json:"tool_faults,omitempty"`
	// Refused is what is wrong with the configuration as it was last read; until
	// it is right the host goes by the one before.
	Refused []config.Problem `json:"config_refused,omitempty"`
}

// LaneStatus is how a host serves a lane.
type LaneStatus struct {
	Lane  int       `json:"lane"`
	Since time.Time `json:"since"`
	Lag   uint64    `json:"lag"` // messages that are not done, those in progress among them
}

// PartitionStatus is how a host serves a partition of an agent.
type PartitionStatus struct {
	Agent     string    `json:"agent"`
	Partition int       `json:"partition"`
	Since     time.Time `json:"since"`
	Lag       uint64    `json:"lag"` // messages that are not done, those in progress among them
}

// ReadStatus reads the answer of a host on StatusSubject.
func ReadStatus(data []byte) (Status, error) {
	s := Status{}
	err := json.Unmarshal(data, &s)
	return s, err
}

// Heartbeats counts the ticks of an agent.
type Heartbeats = heartbeat.Count

// AgentStatus is what a host reports about one of its agents.
type AgentStatus struct {
	agents.Status
	State  string `json:"state"`            // ready, degraded or quarantined
	Reason string `json:"reason,omitempty"` // why it is not ready
	// Heartbeat counts its ticks, in the whole fleet; nil when it has had none.
	Heartbeat *Heartbeats `json:"heartbeat,omitempty"`
}

// ModelStatus is what a host reports about one of its models.
type ModelStatus struct {
	Name     string `json:"name"` // in the configuration
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"` // the provider's name for it
	llm.GateStatus
	Rate       llm.Rate `json:"rate,omitzero"`
	SpentToday int64    `json:"spent_today,omitempty"` // in this UTC day, in micro-cents, all hosts together
}

// Away is why the model is not asked now, in words; empty when it is.
func (m ModelStatus) Away() string {
	switch {
	case m.Breaker == llm.Tripped:
		return "out of service until its breaker is reset"
	case m.Breaker == llm.Open:
		return "not asked after many failures, until " + m.Until.Format(time.TimeOnly)
	case !m.Parked.IsZero():
		return "not asked after a rate limit, until " + m.Parked.Format(time.TimeOnly)
	}
	return ""
}

// Money writes an amount of micro-cents for people.
func Money(microCents int64) string { return llm.Money(microCents) }
