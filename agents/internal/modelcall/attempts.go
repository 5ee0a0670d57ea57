package modelcall

import (
	"time"

	"agenthost/llm"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// calls collects the attempts of one invocation, for the session's log. The
// host's log and those who watch the agent hear of each at once.
type calls struct {
	t      *Caller
	events []run.Event
}

func (c *calls) add(a llm.Attempt) {
	e := run.Event{
		Type: run.ModelCalled, At: time.Now(), Provider: a.Provider, Model: a.Model, Attempt: a.Number,
		Entry: a.Entry, Status: a.Status(), Reason: a.Reason(), Skipped: string(a.Skipped), Cost: a.Cost, Priced: a.Priced, MS: a.Took.Milliseconds(),
	}
	if used := a.Usage; used != (llm.Usage{}) {
		e.Usage = &used
	}
	if a.Err != nil {
		code := a.Code()
		e.Error = &run.Error{Code: code, Message: run.Sentence(code)}
	}
	c.events = append(c.events, e)
	c.t.logAttempt(a)
	for _, state := range a.Breaker {
		c.t.breakerTurned(a, state)
	}
}

func (t *Caller) logAttempt(a llm.Attempt) {
	level, code := zerolog.DebugLevel, a.Code()
	if code != "" && code != llm.CodeCancelled {
		level = zerolog.InfoLevel
	}
	if level < t.Agent.Parts.Log.GetLevel() {
		return
	}
	log := t.Log().WithLevel(level).Str("run", t.ID).Str("provider", a.Provider).Str("model", a.Model)
	if a.Entry != "" {
		log.Str("entry", a.Entry)
	}
	if a.Skipped != "" {
		log.Str("reason", string(a.Skipped)).Msg("model passed over")
		return
	}
	log.Int("attempt", a.Number).Dur("took", a.Took).Int64("input", a.Usage.Input).Int64("output", a.Usage.Output)
	if a.Err != nil {
		log.Str("code", string(code)).AnErr("err", a.Err)
	}
	log.Msg("model called")
}

// breakerTurned tells that an attempt has changed the breaker of its model, for
// all agents.
func (t *Caller) breakerTurned(a llm.Attempt, state llm.State) {
	t.Log().Warn().Str("entry", a.Entry).Str("provider", a.Provider).Str("model", a.Model).Str("state", string(state)).Msg("breaker turned")
	t.Agent.Parts.EventOf(t.Chain(), t.Agent.ID, "breaker", map[string]any{
		"entry": a.Entry, "provider": a.Provider, "model": a.Model, "state": state, "session": t.Key, "run": t.ID,
	})
}
