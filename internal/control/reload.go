package control

import (
	"context"
	"encoding/json"
	"time"

	"agenthost/config"
)

// ReloadSubject is where every host reads its configuration again, and answers
// with what came of it.
const ReloadSubject = "agenthost.reload"

// A Reloaded is what came of reading the configuration again.
type Reloaded struct {
	Host    string   `json:"host"`
	Changes []string `json:"changes"`           // such as "agent ana: added"; none: it is as before
	Restart []string `json:"restart,omitempty"` // keys that take effect after a restart
	// Refused is what is wrong with it. Then nothing has changed.
	Refused []config.Problem `json:"refused,omitempty"`
	// Error is why the host could not get to the end.
	Error string `json:"error,omitempty"`
}

// ReadReloaded reads the answer of a host.
func ReadReloaded(data []byte) (Reloaded, error) {
	r := Reloaded{}
	err := json.Unmarshal(data, &r)
	return r, err
}

// reloadWithin bounds how long a request waits.
const reloadWithin = 30 * time.Second

func (h Host) reload(ctx context.Context, _ none) (Reloaded, error) {
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	return h.Reload(ctx), nil
}
