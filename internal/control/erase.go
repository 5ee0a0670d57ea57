package control

import (
	"context"
	"time"

	"agenthost/client"
	"agenthost/internal/erasure"
)

// eraseWithin is how long what is on its way to a stream may take to get there.
const eraseWithin = 8 * time.Second

// erase drops what this host holds of a person in memory. What is stored the one who asks deletes.
func (h Host) erase(ctx context.Context, o erasure.Order) (erasure.Answer, error) {
	if o.Person.From == "" {
		return erasure.Answer{}, coded(client.CodeBad, "want person, with from")
	}
	return erasure.Answer{Host: h.Name, Erased: h.Fleet.Erase(ctx, o)}, nil
}
