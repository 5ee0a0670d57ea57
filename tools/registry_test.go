package tools_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
)

func run(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil }

func list(source string, names ...string) []tools.Tool {
	all := make([]tools.Tool, len(names))
	for i, n := range names {
		all[i] = tools.Tool{Name: n, Source: source, Run: run}
	}
	return all
}

func names(all []tools.Tool) []string {
	var s []string
	for _, t := range all {
		s = append(s, t.Name)
	}
	return s
}

// A server is a source that changes.
type server struct {
	name    string
	mu      sync.Mutex
	version uint64
	looks   int
	tools   []tools.Tool
	faults  []tools.Fault
}

func (s *server) set(all []tools.Tool, faults ...tools.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.tools, s.faults = all, faults
}

func (s *server) Name() string { return s.name }

func (s *server) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *server) Tools() []tools.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.tools
}

func (s *server) Faults() []tools.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

func TestRegistryFor(t *testing.T) {
	r := tools.NewRegistry(tools.Static(list("", "now", "read_file", "files.read", "files.write", "billing.charge")))
	tests := map[string]struct {
		grant tools.Grant
		want  []string
	}{
		"nothing":          {tools.Grant{}, nil},
		"no globs":         {tools.GrantOf(), nil},
		"exact":            {tools.GrantOf("now"), []string{"now"}},
		"a family":         {tools.GrantOf("files.*"), []string{"files.read", "files.write"}},
		"twice":            {tools.GrantOf("files.*", "files.read", "*.read"), []string{"files.read", "files.write"}},
		"all":              {tools.GrantOf("*"), []string{"billing.charge", "files.read", "files.write", "now", "read_file"}},
		"one character":    {tools.GrantOf("no?"), []string{"now"}},
		"unknown":          {tools.GrantOf("wiki.*", "n"), nil},
		"malformed":        {tools.GrantOf("files.*["), nil},
		"a class":          {tools.GrantOf("[n]*"), []string{"now"}},
		"narrowed":         {tools.GrantOf("*").Narrow("files.*"), []string{"files.read", "files.write"}},
		"narrowed twice":   {tools.GrantOf("*").Narrow("files.*").Narrow("*.read"), []string{"files.read"}},
		"narrowed to none": {tools.GrantOf("now").Narrow(), nil},
		"not widened":      {tools.GrantOf("now").Narrow("*"), []string{"now"}},
		"zero not widened": {tools.Grant{}.Narrow("*"), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, names(r.For(tt.grant))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNarrowLeavesTheBase(t *testing.T) {
	base := tools.GrantOf("*").Narrow("files.*")
	one, two := base.Narrow("*.read"), base.Narrow("*.write")
	if one.Allows("files.write") || !two.Allows("files.write") || !base.Allows("files.read") {
		t.Error("a grant was changed by narrowing another")
	}
}

func TestRegistryFind(t *testing.T) {
	r := tools.NewRegistry(tools.Static(list("", "b", "a", "c")))
	if got, ok := r.Find(tools.GrantOf("*"), "b"); !ok || got.Name != "b" {
		t.Errorf("got %q, %v, want b", got.Name, ok)
	}
	for _, name := range []string{"b", "d", ""} {
		if _, ok := r.Find(tools.GrantOf("a", "d"), name); ok {
			t.Errorf("found %q, which is not granted or not there", name)
		}
	}
}

func TestRegistryUnmatched(t *testing.T) {
	r := tools.NewRegistry(tools.Static(list("", "now", "files.read")))
	given := []string{"wiki.*", "now", "files.*", "remind"}
	if diff := cmp.Diff([]string{"wiki.*", "remind"}, r.Unmatched(given)); diff != "" {
		t.Error(diff)
	}
	if given[1] != "now" {
		t.Errorf("the given globs were changed: %v", given)
	}
}

func TestRegistryCheck(t *testing.T) {
	tests := map[string]struct {
		sources []tools.Source
		want    []string // in the error
	}{
		"fine":           {[]tools.Source{tools.Static(list("", "a")), &server{tools: list("", "b")}}, nil},
		"in two sources": {[]tools.Source{tools.Static(list("", "a")), &server{name: `mcp server "x"`, tools: list("", "a")}}, []string{`tool "a" of mcp server "x"`, "by built in"}},
		"in one source":  {[]tools.Source{tools.Static(append(list("here", "a"), list("there", "a")...))}, []string{`tool "a" of there`, "by here"}},
		"all of them":    {[]tools.Source{tools.Static(list("", "a", "b")), tools.Static(list("two", "a", "b"))}, []string{`tool "a" of two`, `tool "b" of two`}},
		"not to run":     {[]tools.Source{tools.Static{{Name: "a"}, {Run: run}}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tools.NewRegistry(tt.sources...).Check()
			if (err != nil) != (tt.want != nil) || err != nil && !errors.Is(err, tools.ErrTwice) {
				t.Fatalf("got error %v, want one with %q", err, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want %q in it", err, want)
				}
			}
		})
	}
}

func TestRegistryFollowsItsSources(t *testing.T) {
	wiki, shop := &server{name: "wiki"}, &server{name: "shop"}
	r := tools.NewRegistry(tools.Static(list("", "now")), wiki, shop)
	all := tools.GrantOf("*")
	owner := func() string {
		got, _ := r.Find(all, "find")
		return got.Source
	}
	faults := func() []string {
		var s []string
		for _, f := range r.Faults() {
			s = append(s, f.Error())
		}
		return s
	}
	if diff := cmp.Diff([]string{"now"}, names(r.For(all))); diff != "" {
		t.Error(diff)
	}

	shop.set(list("shop", "find"))
	wiki.set(list("wiki", "find", "now", "read"))
	r.For(all)
	if got := owner(); got != "wiki" {
		t.Errorf("both at once: find is of %q, want the earlier source", got)
	}
	if diff := cmp.Diff([]string{`tool "now" of wiki: name is taken by built in`, `tool "find" of shop: name is taken by wiki`}, faults()); diff != "" {
		t.Error(diff)
	}

	wiki.set(nil, tools.Fault{Source: "wiki", Err: context.DeadlineExceeded})
	if got := owner(); got != "shop" {
		t.Errorf("after the owner has left: find is of %q", got)
	}
	if diff := cmp.Diff([]string{"wiki: context deadline exceeded"}, faults()); diff != "" {
		t.Error(diff)
	}
	if !errors.Is(r.Faults()[0], context.DeadlineExceeded) {
		t.Error("the cause of a fault is lost")
	}

	wiki.set(list("wiki", "find"))
	if got := owner(); got != "shop" {
		t.Errorf("one that comes later took the name: find is of %q", got)
	}
	if diff := cmp.Diff([]string{`tool "find" of wiki: name is taken by shop`}, faults()); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryLooksOncePerChange(t *testing.T) {
	s := &server{tools: list("", "a")}
	r := tools.NewRegistry(s)
	for range 10 {
		r.For(tools.GrantOf("*"))
	}
	s.set(list("", "b"))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { r.For(tools.GrantOf("*")) })
	}
	wg.Wait()
	if s.looks != 2 {
		t.Errorf("got %d looks at the source, want 2", s.looks)
	}
}

func BenchmarkFor(b *testing.B) {
	var all []string
	for _, family := range []string{"files", "wiki", "billing", "shop"} {
		for _, c := range "abcdefghijklmnopqrstuvwxy" {
			all = append(all, family+"."+string(c))
		}
	}
	r := tools.NewRegistry(tools.Static(list("", all...)))
	g := tools.GrantOf("now", "files.*", "*.a")
	for b.Loop() {
		r.For(g)
	}
}
