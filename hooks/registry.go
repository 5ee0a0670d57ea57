package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// MaxPerName is how many handlers one name takes.
const MaxPerName = 128

// ErrFull is returned by [Registry.Add] for a name that has [MaxPerName]
// handlers.
var ErrFull = errors.New("no room for another hook")

// A Registry holds handlers by the name of the point they are for. Its methods
// may be called from several goroutines at once; what is added or removed
// counts from the next firing on. The zero Registry is empty, ready to use, and
// logs nothing.
type Registry struct {
	log    zerolog.Logger
	mu     sync.Mutex // held by writers only
	chains atomic.Pointer[map[string][]*link]
}

// A link is one handler in the chain of its point.
type link struct {
	priority int
	label    string
	handler  Handler
	opts     Options
	late     error // the cause of its timeout
}

// New returns an empty registry that logs the faults of handlers to log.
func New(log zerolog.Logger) *Registry {
	return &Registry{log: log}
}

// Add adds h to the handlers of name, after those of the same or a lower
// priority. The label names it in the log. What Add returns removes it again
// and may be called more than once; a firing in progress still calls it.
func (r *Registry) Add(name string, priority int, label string, h Handler, opts Options) (remove func(), err error) {
	switch {
	case h == nil:
		return nil, fmt.Errorf("add hook %q to %q: no handler", label, name)
	case opts.Timeout < 0:
		return nil, fmt.Errorf("add hook %q to %q: negative timeout %s", label, name, opts.Timeout)
	}
	opts.Timeout = cmp.Or(opts.Timeout, DefaultTimeout)
	late := fmt.Errorf("no answer within %s", opts.Timeout)
	l := &link{priority: priority, label: label, handler: h, opts: opts, late: late}
	if !r.insert(name, l) {
		r.log.Error().Str("hook", name).Str("handler", label).Int("max", MaxPerName).Msg("hook refused: too many for one point")
		return nil, fmt.Errorf("add hook %q to %q, which has %d: %w", label, name, MaxPerName, ErrFull)
	}
	return func() { r.remove(name, l) }, nil
}

// Has reports whether name has a handler, so that a caller need not make the
// arguments when it has none. It takes no lock and allocates nothing.
func (r *Registry) Has(name string) bool {
	return len(r.chain(name)) > 0
}

// HasFor is Has for the handlers that are called for a session of an agent.
func (r *Registry) HasFor(name, agent, session string) bool {
	return slices.ContainsFunc(r.chain(name), func(l *link) bool { return l.isFor(agent, session) })
}

// isFor reports whether the handler is called for a session of an agent.
func (l *link) isFor(agent, session string) bool {
	return l.opts.Only == nil || l.opts.Only(agent, session)
}

// fitting are the links of a chain that are for a session of an agent.
func fitting(chain []*link, agent, session string) []*link {
	others := func(l *link) bool { return !l.isFor(agent, session) }
	if !slices.ContainsFunc(chain, others) { // as mostly: nothing is copied
		return chain
	}
	return slices.DeleteFunc(slices.Clone(chain), others)
}

func (r *Registry) chain(name string) []*link {
	chains := r.chains.Load()
	if chains == nil {
		return nil
	}
	return (*chains)[name]
}

func (r *Registry) insert(name string, l *link) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	chain := r.chain(name)
	if len(chain) >= MaxPerName {
		return false
	}
	chain = append(slices.Clone(chain), l)
	slices.SortStableFunc(chain, func(a, b *link) int { return cmp.Compare(a.priority, b.priority) })
	r.store(name, chain)
	return true
}

func (r *Registry) remove(name string, l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(r.chain(name)), func(other *link) bool { return other == l })
	r.store(name, rest)
}

// store replaces the whole map: a firing reads it without a lock.
func (r *Registry) store(name string, chain []*link) {
	chains := make(map[string][]*link)
	if old := r.chains.Load(); old != nil {
		maps.Copy(chains, *old)
	}
	chains[name] = chain
	if len(chain) == 0 {
		delete(chains, name)
	}
	r.chains.Store(&chains)
}
