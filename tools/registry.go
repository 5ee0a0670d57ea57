package tools

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Source is where tools come from. Its methods are called from many
// goroutines and do not block: a source that depends on a server answers with
// what it knows already.
type Source interface {
	// Name says where its tools are from, for people.
	Name() string
	// Version changes after Tools or Faults have; it is asked at each call of a
	// model.
	Version() uint64
	Tools() []Tool
	// Faults are the tools it would have, if something was otherwise, and those
	// whose schema it does not pass on.
	Faults() []Fault
}

// Static is a source whose tools never change.
type Static []Tool

// Name is "built in".
func (Static) Name() string { return "built in" }

// Version is always the same.
func (Static) Version() uint64 { return 0 }

// Tools is the list itself.
func (s Static) Tools() []Tool { return s }

// Faults is empty.
func (Static) Faults() []Fault { return nil }

// A Fault is a tool that is left out or offered without its schema, or with no
// Tool a whole source.
type Fault struct { //nolint:errname // kept and listed as data; that it is an error too comes second
	Source string
	Tool   string
	Err    error
}

// Error names the tool or the source, and the cause.
func (f Fault) Error() string {
	if f.Tool == "" {
		return fmt.Sprintf("%s: %v", f.Source, f.Err)
	}
	return fmt.Sprintf("tool %s of %s: %v", quotedName(f.Tool), f.Source, f.Err)
}

// Unwrap is the cause.
func (f Fault) Unwrap() error { return f.Err }

// ErrNoTool says that there is no tool of that name, and that waiting for it is
// of no use.
var ErrNoTool = errors.New("no such tool")

// ErrTwice is the cause of a Fault when two places have a tool of that name.
var ErrTwice = errors.New("name is taken")

// maxDescription is how many bytes of the description of a tool a model is shown: it is part
// of every call of a model, and a longer one has a provider refuse them all.
const maxDescription = 16 << 10

// A Registry knows the tools of all sources as they are now. Of two tools with
// one name it has the one it had first: a later source does not take over a
// name while its owner has it. It is safe for concurrent use and starts
// nothing.
type Registry struct {
	sources []Source
	now     atomic.Pointer[snapshot]
	mu      sync.Mutex // held to make the next snapshot
}

// A snapshot is what the sources had at some time; it never changes.
type snapshot struct {
	versions []uint64
	tools    []Tool         // by name
	owners   map[string]int // the place of a tool's source in sources
	faults   []Fault
}

// NewRegistry has the tools of all sources. On the first look, earlier sources
// go before later ones.
func NewRegistry(sources ...Source) *Registry {
	return &Registry{sources: slices.Clone(sources)}
}

// Check is an error when a name is there twice, with both places; it is
// for the start, when that is a mistake to correct. Later such a tool is left
// out, as Faults tell.
func (r *Registry) Check() error {
	var errs []error
	for _, f := range r.snapshot().faults {
		if errors.Is(f.Err, ErrTwice) {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// Faults are the tools left out now, with those the sources tell of.
func (r *Registry) Faults() []Fault {
	return slices.Clone(r.snapshot().faults)
}

// For are the granted tools by name. As long as the sources stay the same, so
// does the list.
func (r *Registry) For(g Grant) []Tool {
	var granted []Tool
	for _, t := range r.snapshot().tools {
		if g.Allows(t.Name) {
			granted = append(granted, t)
		}
	}
	return granted
}

// Find is the granted tool with this name; ok is false when there is none, or
// it is not granted.
func (r *Registry) Find(g Grant, name string) (t Tool, ok bool) {
	all := r.snapshot().tools
	i, found := slices.BinarySearchFunc(all, name, func(t Tool, name string) int { return strings.Compare(t.Name, name) })
	if !found || !g.Allows(name) {
		return Tool{}, false
	}
	return all[i], true
}

// Unmatched are the globs that no tool matches now, in their order.
func (r *Registry) Unmatched(globs []string) []string {
	all := r.snapshot().tools
	return slices.DeleteFunc(slices.Clone(globs), func(glob string) bool {
		return slices.ContainsFunc(all, func(t Tool) bool { return matches(glob, t.Name) })
	})
}

func (r *Registry) snapshot() *snapshot {
	if s := r.now.Load(); s != nil && r.current(s) {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.now.Load()
	if old != nil && r.current(old) {
		return old
	}
	s := r.look(old)
	r.now.Store(s)
	return s
}

func (r *Registry) current(s *snapshot) bool {
	for i, src := range r.sources {
		if src.Version() != s.versions[i] {
			return false
		}
	}
	return true
}

// look asks all sources. A version is read before what it stands for: a change
// in between is seen at the next call.
func (r *Registry) look(old *snapshot) *snapshot {
	s := &snapshot{owners: map[string]int{}}
	lists := make([][]Tool, len(r.sources))
	for i, src := range r.sources {
		s.versions = append(s.versions, src.Version())
		lists[i] = src.Tools()
		s.faults = append(s.faults, src.Faults()...)
	}
	s.keepOwners(old, lists)
	for i, list := range lists {
		for _, t := range list {
			r.add(s, i, t)
		}
	}
	slices.SortFunc(s.tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// keepOwners gives the names to those who had them and still do.
func (s *snapshot) keepOwners(old *snapshot, lists [][]Tool) {
	if old == nil {
		return
	}
	for name, i := range old.owners {
		if slices.ContainsFunc(lists[i], func(t Tool) bool { return t.Name == name }) {
			s.owners[name] = i
		}
	}
}

func (r *Registry) add(s *snapshot, i int, t Tool) {
	place := cmp.Or(t.Source, r.sources[i].Name())
	if t.Name == "" || t.Run == nil {
		s.faults = append(s.faults, Fault{place, t.Name, errors.New("has no name or nothing to run")})
		return
	}
	owner, taken := s.owners[t.Name]
	twin := slices.IndexFunc(s.tools, func(u Tool) bool { return u.Name == t.Name })
	if taken && owner != i || twin >= 0 {
		first := r.sources[owner].Name()
		if twin >= 0 {
			first = cmp.Or(s.tools[twin].Source, first)
		}
		s.faults = append(s.faults, Fault{place, t.Name, fmt.Errorf("%w by %s", ErrTwice, first)})
		return
	}
	s.owners[t.Name] = i
	if len(t.Description) > maxDescription {
		t.Description = strings.ToValidUTF8(t.Description[:maxDescription], "") + "…"
	}
	s.tools = append(s.tools, t)
}
