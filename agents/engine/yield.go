package engine

// Yield has the agent begin nothing more, as its lane goes to another host. Runs in
// progress go on to their end; what is not begun stays unacknowledged.
func (r *Runtime) Yield() {
	r.shared.Yielding.Store(true)
	if d := r.division.Load(); d != nil {
		d.Wake()
	}
	r.leaveReady()
	r.leaveBlocked()
	r.shared.DismissSuspects()
	for entry := range r.sessions.All() {
		entry.Value.DismissAsks()
	}
}

// Resume has the agent begin what comes, as this host serves its lane again. Where
// another host has served it meanwhile, logs that are open are read again.
func (r *Runtime) Resume(another bool) {
	if another {
		r.shared.Owners.Add(1)
		if d := r.division.Load(); d != nil {
			d.Forget()
		}
	}
	r.shared.Yielding.Store(false)
}

// Unfinished are the keys of the sessions in which there is still something to do.
func (r *Runtime) Unfinished() (keys []string) {
	if r.sessions.InFlight() == 0 {
		return nil
	}
	for entry := range r.sessions.All() {
		if c := entry.Value; c.Busy() {
			keys = append(keys, string(c.Key))
		}
	}
	return keys
}

// Asks reports whether a running tool waits for the answer to its question: only this host
// can pass it on.
func (r *Runtime) Asks() bool {
	if r.sessions.InFlight() == 0 {
		return false
	}
	for entry := range r.sessions.All() {
		if entry.Value.Asks() {
			return true
		}
	}
	return false
}
