package control

import (
	"context"
	"time"

	"agenthost/client"
)

// reloadWithin bounds how long a request waits.
const reloadWithin = 30 * time.Second

func (h Host) reload(ctx context.Context, _ none) (client.Reloaded, error) {
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	return h.Reload(ctx), nil
}

// A ReloadReport is what came of reading the configuration again, on all hosts.
type ReloadReport struct {
	Hosts []client.Reloaded `json:"hosts"`
}

func (h Host) reloadAll(ctx context.Context, _ none) (ReloadReport, error) {
	hosts, err := h.client().EveryHost(ctx)
	if err != nil {
		return ReloadReport{}, err
	}
	list, err := h.clientFor(callerOf(ctx)).Reload(ctx, hosts)
	return ReloadReport{notNil(list)}, err
}
