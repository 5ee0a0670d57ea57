package host

import (
	"context"
	"encoding/json"
	"time"

	"agenthost/llm"
)

// BreakerSubject is where every host takes models out of service and back.
const BreakerSubject = "agenthost.breaker"

// ModelStatus is what a host tells of one of its models.
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

func (h *Host) modelStatus(spent map[string]int64) []ModelStatus {
	var list []ModelStatus
	models := h.now.Load().models
	for _, name := range sortedKeys(models) {
		l := models[name].link
		list = append(list, ModelStatus{
			Name: name, Provider: l.Name, Model: l.Model, GateStatus: l.Gate.Status(), Rate: models[name].cfg.Rate, SpentToday: spent[name],
		})
	}
	return list
}

// breaker trips or resets the breaker of a model of this host.
func (h *Host) breaker(_ context.Context, data []byte) error {
	var order struct{ Model, Action string }
	if err := json.Unmarshal(data, &order); err != nil {
		return shut("400", "request: %w", err)
	}
	m, ok := h.now.Load().models[order.Model]
	switch {
	case !ok:
		return shut("404", "there is no model %q", order.Model)
	case order.Action == "trip":
		m.link.Gate.Trip()
	case order.Action == "reset":
		m.link.Gate.Reset()
	default:
		return shut("400", "action is %q; want trip or reset", order.Action)
	}
	h.log.Warn().Str("model", order.Model).Str("action", order.Action).Msg("breaker set by hand")
	return nil
}

// gates are those of all models.
func (m models) gates() []*llm.Gate {
	var list []*llm.Gate
	for _, name := range sortedKeys(m) {
		list = append(list, m[name].link.Gate)
	}
	return list
}
