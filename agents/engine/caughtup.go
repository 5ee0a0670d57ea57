package engine

// caughtUp is which commits of a log were looked through for replies that an owner before
// has not published: all from the first to the last that have any. What comes again may be
// older: of two lanes of an agent, the one with its tasks is often taken over before the
// one with its messages, and the log is opened for a task.
type caughtUp struct {
	plugins     uint64 // from here to first only for those to plugins
	first, last uint64
}

// has reports whether a commit was looked through.
func (u caughtUp) has(seq uint64) bool { return u.last > 0 && u.first <= seq && seq <= u.last }

// forPlugins reports whether it was at least for replies to plugins.
func (u caughtUp) forPlugins(seq uint64) bool {
	return u.last > 0 && u.plugins <= seq && seq <= u.last
}

// add adds those of another look. Where the two are apart the later stays: to look through a
// commit again is no harm.
func (u *caughtUp) add(more caughtUp) {
	if u.last > 0 && more.first <= u.last && u.first <= more.last {
		more = caughtUp{min(more.plugins, u.plugins), min(more.first, u.first), max(more.last, u.last)}
	}
	*u = more
}
