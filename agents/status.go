package agents

// Status is what an agent is doing.
type Status struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	Sessions    int    `json:"sessions"`
	InFlight    int    `json:"inflight"`
	Running     int    `json:"running"`
	Queued      int64  `json:"queued"`
	Suspects    int    `json:"suspects,omitempty"`    // runs that may have ended their host, and wait to be tried again
	SpentToday  int64  `json:"spent_today,omitempty"` // in this UTC day, in micro-cents, all hosts together
	SpentMonth  int64  `json:"spent_month,omitempty"` // the same of this month, where the agent has a budget for one
	ShadowOf    string `json:"shadow_of,omitempty"`
	Paused      string `json:"paused,omitempty"` // by whom, since when and why, when it is, or all that it is bound to
	// PausedChannels are those it is bound to that are paused, such as web or telegram.sales.
	PausedChannels []string `json:"paused_channels,omitempty"`
	Doors          []string `json:"doors,omitzero"`    // by which programs reach it; nil: all of bus.Doors
	Channels       []string `json:"channels,omitzero"` // it is bound to, such as web, telegram.sales or telegram.*; nil: of an older host
	Serving        bool     `json:"serving,omitempty"` // this host brings it its messages, as far as it knows
}
