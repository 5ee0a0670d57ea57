package inflight

import (
	"bytes"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
)

// Refresh has the next turn go by the profile that there is by now.
func (t *Run) Refresh() { t.Profile = t.profileNow() }

// profileNow is what the next turn goes by. All inputs of a run came by the same
// binding, if by any.
func (t *Run) profileNow() *profile.Profile {
	p := t.Agent.Now()
	if len(t.Inputs) == 0 {
		return p
	}
	p = p.By(t.Inputs[0].Subject)
	if !bytes.Contains(t.Inputs[0].Envelope, []byte(`"tools"`)) { // as mostly
		return p
	}
	if o, err := message.ReadOrigin(t.Inputs[0]); err == nil {
		p = p.WithClientTools(o.ClientTools())
	}
	return p
}
