package intake

import (
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
)

// late is how late a firing may be that is not to be made up for.
const late = time.Minute

// Timely decides whether a firing is to become a run; of anything else that is not
// the question. What an owner before may have begun is looked up in the log first.
func (i *Intake) Timely(it *message.Item) bool {
	route := it.Origin.Route
	if route == nil || route.Due.IsZero() || route.Kind != bus.RouteSchedule {
		return true
	}
	if route.Missed != "skip" || i.Parts.Time().Sub(route.Due) <= late {
		return true
	}
	if it.MayHaveBegun() {
		it.Late = true
		return true
	}
	i.LeaveOut(it)
	return false
}

// LeaveOut notes that a firing has come too late.
func (i *Intake) LeaveOut(it *message.Item) {
	route := it.Origin.Route
	i.log().Info().Str("schedule", route.From).Time("due", route.Due).Msg("a missed firing is left out")
}
