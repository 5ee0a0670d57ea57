package toolcall

import (
	"encoding/json"

	"agenthost/agents"
	"agenthost/run"
)

// progress tells watchers of the session how far a long call is.
func (t *Caller) progress(call run.Call) func(string) {
	return func(text string) {
		data, err := json.Marshal(agents.Chunk{Run: t.ID, Call: call.ID, Tool: call.Name, Progress: text})
		if err == nil {
			err = t.Agent.Parts.NC.Publish(agents.StreamSubject(t.Agent.ID, t.Key), data)
		}
		if err != nil {
			t.Log().Debug().Err(err).Msg("publish progress")
		}
	}
}
