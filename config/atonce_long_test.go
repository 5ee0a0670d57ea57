//go:build long

package config_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agenthost/config"

	"gopkg.in/yaml.v3"
)

// Two faults are two problems, wherever both are: one never hides another. What is only
// wrong because of another value may be.
func TestFaultsAddUp(t *testing.T) {
	data, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("script.yaml", []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Parse("c.yaml", data); err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	all := faults(t, &root, root.Content[0], nil)
	pairs := 0
	for i, a := range all {
		for _, b := range all[:i] {
			if !a.near(b) {
				continue
			}
			if a.needs(b) || b.needs(a) {
				continue
			}
			pairs++
			both := problemsWith(t, &root, a, b)
			for _, want := range slices.Concat(a.problems, b.problems) {
				if !slices.ContainsFunc(both, func(p config.Problem) bool { return what(p) == want }) {
					t.Errorf("%s, and %s: got %v, without\n%s", a.name(), b.name(), both, want)
				}
			}
		}
	}
	if len(all) < 300 || pairs < 3000 {
		t.Errorf("got %d faults and %d pairs of them, want more", len(all), pairs)
	}
}

// A fault is made in a configuration, and has problems of its own.
type fault struct {
	path     []string
	does     string
	make     func() (undo func())
	problems []string // what each says
}

func (f fault) name() string { return strings.Join(f.path, ".") + " " + f.does }

// needed are the keys without which another is not missed.
var needed = map[string]string{
	"model": "provider", "script": "provider", "client_id": "grant", "client_secret": "grant", "callback": "reply", "password": "user",
}

// needs reports whether the fault is only one where the other is not. What an agent
// without an id is called is not known: it may be what others name.
func (f fault) needs(other fault) bool {
	last := other.path[len(other.path)-1]
	if last == "id" && f.does == "is -5" && slices.Contains([]string{"delegates", "accepts"}, f.path[len(f.path)-2]) {
		return true
	}
	return f.does == "is left out" && needed[f.path[len(f.path)-1]] == last
}

// near reports whether two faults stand beside each other in one mapping or list, or one
// of them a level further down, and not in each other.
func (f fault) near(other fault) bool {
	same := 0
	for same < min(len(f.path), len(other.path)) && f.path[same] == other.path[same] {
		same++
	}
	left, right := len(f.path)-same, len(other.path)-same
	return left > 0 && right > 0 && left+right <= 3 && (same > 0 || left+right == 2)
}

// faults are those of all kinds that can be made at and below n: a value of another kind,
// one that cannot be, a key too many and one too few.
func faults(t *testing.T, root, n *yaml.Node, path []string) (all []fault) {
	t.Helper()
	try := func(f fault, place []string) {
		f.problems = ownProblems(t, root, f, place)
		if len(f.problems) > 0 {
			all = append(all, f)
		}
	}
	replace := func(does string, by yaml.Node) {
		try(fault{path: path, does: does, make: func() func() {
			was := *n
			*n = by
			return func() { *n = was }
		}}, path)
	}
	if n.Kind == yaml.ScalarNode {
		replace("is -5", yaml.Node{Kind: yaml.ScalarNode, Value: "-5"})
		if len(all) == 0 {
			replace("is nonsense", yaml.Node{Kind: yaml.ScalarNode, Value: "No nonsense, please!"})
		}
	}
	replace("is a list of lists", yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.SequenceNode}}})
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		below := append(slices.Clone(path), n.Content[i].Value)
		try(fault{path: below, does: "is left out", make: func() func() {
			was := n.Content
			n.Content = slices.Concat(was[:i], was[i+2:])
			return func() { n.Content = was }
		}}, path)
		all = append(all, faults(t, root, n.Content[i+1], below)...)
	}
	if n.Kind == yaml.MappingNode {
		added := append(slices.Clone(path), "nonsense")
		try(fault{path: added, does: "is a key", make: func() func() {
			was := n.Content
			n.Content = append(slices.Clone(was), &yaml.Node{Kind: yaml.ScalarNode, Value: "nonsense"}, &yaml.Node{Kind: yaml.SequenceNode})
			return func() { n.Content = was }
		}}, append(added, "key"))
	}
	for i, item := range n.Content {
		if n.Kind == yaml.SequenceNode {
			all = append(all, faults(t, root, item, append(slices.Clone(path), strconv.Itoa(i)))...)
		}
	}
	return all
}

// ownProblems are what is said of the value at a path, or where it would be, for a fault.
func ownProblems(t *testing.T, root *yaml.Node, f fault, path []string) (texts []string) {
	t.Helper()
	undo := f.make()
	data, err := yaml.Marshal(root)
	undo()
	if err != nil {
		t.Fatal(err)
	}
	var read yaml.Node
	if err := yaml.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	n := read.Content[0]
	for i, step := range path {
		if n.Kind == yaml.SequenceNode {
			at, _ := strconv.Atoi(step)
			n = n.Content[at]
			continue
		}
		key := slices.IndexFunc(n.Content, func(c *yaml.Node) bool { return c.Value == step })
		if i == len(path)-2 && path[i+1] == "key" {
			n = n.Content[key]
			break
		}
		n = n.Content[key+1]
	}
	for _, p := range problemsWith(t, root, f) {
		if p.Line == n.Line && p.Column == n.Column {
			texts = append(texts, what(p))
		}
	}
	return texts
}

var quoted = regexp.MustCompile(`"[^"]*"`)

// what is wrong, without names and the cure, in which other values may be quoted.
func what(p config.Problem) string {
	text, _, _ := strings.Cut(p.Text, ";")
	return quoted.ReplaceAllString(text, `"…"`)
}

// problemsWith are the problems of a configuration with faults.
func problemsWith(t *testing.T, root *yaml.Node, made ...fault) []config.Problem {
	t.Helper()
	for _, f := range made {
		defer f.make()()
	}
	data, err := yaml.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	_, err = config.Parse("c.yaml", data)
	if wrong, ok := errors.AsType[*config.FileError](err); ok {
		return wrong.Problems
	}
	if err != nil {
		t.Fatal(fmt.Errorf("not a list of problems: %w", err))
	}
	return nil
}
