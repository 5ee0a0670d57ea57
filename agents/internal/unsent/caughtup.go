package unsent

// CaughtUp is which commits of a log were looked through for replies that an owner before
// has not published: all from the first to the last that have any. What comes again may be
// older: of two lanes of an agent, the one with its tasks is often taken over before the
// one with its messages, and the log is opened for a task.
type CaughtUp struct {
	Plugins     uint64 // from here to First only for those to plugins
	First, Last uint64 // 0: no commit was looked through
}

// Has reports whether a commit was looked through.
func (u CaughtUp) Has(seq uint64) bool { return u.Last > 0 && u.First <= seq && seq <= u.Last }

// ForPlugins reports whether it was at least for replies to plugins.
func (u CaughtUp) ForPlugins(seq uint64) bool {
	return u.Last > 0 && u.Plugins <= seq && seq <= u.Last
}

// Add adds those of another look. Where the two are apart the later stays: to look through a
// commit again is no harm.
func (u *CaughtUp) Add(more CaughtUp) {
	if u.Last > 0 && more.First <= u.Last && u.First <= more.Last {
		more = CaughtUp{min(more.Plugins, u.Plugins), min(more.First, u.First), max(more.Last, u.Last)}
	}
	*u = more
}
