package session

import "time"

// Config is the `session:` of an agent. The zero value means the defaults.
type Config struct {
	TTL   time.Duration `yaml:"ttl,omitempty" json:"ttl,omitempty"`     // idle time in memory; default 30m
	Max   *int          `yaml:"max,omitempty" json:"max,omitempty"`     // in memory; default 10000, 0: no bound
	Queue Queue         `yaml:"queue,omitempty" json:"queue,omitempty"` // default followup
	// Debounce and DebounceMax are for Collect, where a binding does not say otherwise.
	Debounce    time.Duration `yaml:"debounce,omitempty" json:"debounce,omitempty"`         // how long to wait for more
	DebounceMax time.Duration `yaml:"debounce_max,omitempty" json:"debounce_max,omitempty"` // how long the first waits at most; default 5 times Debounce
	QueueMax    int           `yaml:"queue_max,omitempty" json:"queue_max,omitempty"`       // waiting inputs of one session; default 1000
}

// A Queue says what becomes of a message that comes during a run.
type Queue string

// The queue modes.
const (
	Followup  Queue = "followup"
	Collect   Queue = "collect"
	Steer     Queue = "steer"
	Interrupt Queue = "interrupt"
)
