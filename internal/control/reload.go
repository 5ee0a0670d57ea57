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
