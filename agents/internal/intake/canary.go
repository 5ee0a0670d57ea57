package intake

import (
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
)

// canaryAge is for how long a canary is worth an answer that does not say so itself: its
// sender has given up by then, and would not remove its session.
const canaryAge = time.Minute

// admitsCanary reports whether a canary is answered: one that a command of the operator
// has signed, and not too late. All others are dropped.
func (i *Intake) admitsCanary(it *message.Item) bool {
	d := it.Delivery
	signed := i.Parts.Publisher.Signer().Verify(d.Subject, d.Header(), d.Data())
	if signed && time.Since(d.Stored) < worth(it.Origin.Inbound) {
		return true
	}
	i.log().Debug().Bool("signed", signed).Time("stored", d.Stored).Msg("canary dropped")
	d.Done()
	return false
}

// worth is for how long a canary is worth an answer.
func worth(env *bus.Inbound) time.Duration {
	said, _ := env.Meta[bus.CanaryWithin].(string) // older commands do not say it
	if within, err := time.ParseDuration(said); err == nil {
		return min(within, canaryAge)
	}
	return canaryAge
}
