package llm

import "context"

// current is the provider to call, and the number of its renewal.
func (g *Gate) current(l Link) (Provider, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.provider != nil {
		return g.provider, g.renewals
	}
	return l.Provider, g.renewals
}

// refresh looks for new credentials after those of a renewal were refused, and
// reports whether there are some. Runs that ask together share one look.
func (g *Gate) refresh(ctx context.Context, l Link, renewal int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.renewals != renewal {
		return true // another run was faster
	}
	if g.refreshed == nil {
		return g.renew(ctx, l)
	}
	under := g.refreshed
	g.mu.Unlock()
	select {
	case <-under:
	case <-ctx.Done():
	}
	g.mu.Lock()
	return g.renewals != renewal
}

// renew asks l for a provider. The lock is held, but not meanwhile.
func (g *Gate) renew(ctx context.Context, l Link) bool {
	done := make(chan struct{})
	g.refreshed = done
	g.mu.Unlock()
	p, err := l.Refresh(ctx)
	g.mu.Lock()
	g.refreshed = nil
	close(done)
	if err != nil || p == nil {
		return false
	}
	g.provider = p
	g.renewals++
	return true
}
