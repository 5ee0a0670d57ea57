package budget

// A Span is what a budget is for.
type Span string

// The spans of budgets.
const (
	OfRun     Span = "run"
	OfSession Span = "session"
	OfDay     Span = "day"
	OfMonth   Span = "month"
	OfPeer    Span = "peer_day"
)

// Limits are budgets in micro-cents, 0 for no limit.
type Limits struct{ Run, Session, Day, Month, Peer int64 }

// None reports whether l limits nothing.
func (l Limits) None() bool { return l == Limits{} }
