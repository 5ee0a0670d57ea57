package tools

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

// A rule is one line of `permissions:`.
type rule struct {
	key     string // as it is written
	glob    string // the tool's or the command's part of it
	command bool   // it is for commands
	verdict Verdict
}

func (r rule) check() error {
	if !slices.Contains(strictness, r.verdict) {
		return fmt.Errorf("%q: want allow, ask or deny", r.verdict)
	}
	if _, err := path.Match(r.glob, ""); err != nil && isGlob(r.glob) {
		return err
	}
	return nil
}

func (r rule) decision(name string) Decision {
	words := map[Verdict]string{Allow: "allows", Ask: "asks for", Deny: "denies"}
	return Decision{Verdict: r.verdict, Reason: fmt.Sprintf("permission %q %s %s", r.key, words[r.verdict], name)}
}

type rules []rule

// best is the rule that counts for name.
func (rs rules) best(name string) (best rule, ok bool) {
	for _, r := range rs {
		if r.covers(name) && (!ok || r.over(best, name) > 0) {
			best, ok = r, true
		}
	}
	return best, ok
}

func (r rule) covers(name string) bool {
	if r.command {
		return matchesPath(r.glob, name)
	}
	return matches(r.glob, name)
}

// over is positive when r counts more than other.
func (r rule) over(other rule, name string) int {
	exact := func(r rule) int {
		if r.glob == name {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(exact(r), exact(other)),
		cmp.Compare(len(r.glob), len(other.glob)),
		cmp.Compare(slices.Index(strictness, r.verdict), slices.Index(strictness, other.verdict)),
	)
}
