package intake

import (
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
)

// late is how late a firing may be that is not to be made up for.
const late = time.Minute

// Timely decides whether a firing is to become a run; of anything else that is not
// the question.
func (i *Intake) Timely(it *message.Item) bool {
	route := it.Origin.Route
	if route == nil || route.Due.IsZero() || route.Kind != bus.RouteSchedule {
		return true
	}
	if route.Missed != "skip" || it.Tried || time.Since(route.Due) <= late {
		return true
	}
	i.log().Info().Str("schedule", route.From).Time("due", route.Due).Msg("a missed firing is left out")
	return false
}
