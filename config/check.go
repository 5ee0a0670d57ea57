package config

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"agenthost/internal/yamldoc"
)

var token = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

var serviceName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const wantToken = "want 1 to 63 of a-z, 0-9, _ and -"

// A checker finds what the types do not: values, and names that refer to
// nothing.
type checker struct {
	*yamldoc.Decoder
	c   *Config
	own Extensions
	ids []string // of the agents; nil when one of them could not be read

	partial bool // a file is missing from c
	folder  string
	shelf   shelf
}

func (k *checker) check() {
	k.checkNATS()
	k.checkHTTP()
	k.checkModels()
	k.checkTools()
	k.checkPlugins()
	k.checkHooks()
	k.checkAgents()
	k.checkHedges()
	k.checkTokens()
	k.checkIdentities()
	k.checkBound()
	k.checkHookScopes()
	k.checkDefaults()
	k.checkFiles()
	slices.SortStableFunc(k.c.Warnings, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// warn is fault for what keeps no host from starting. Its text is what, and after
// a semicolon the cure.
func (k *checker) warn(path, format string, args ...any) {
	at := k.NodeAt(path).At
	k.c.Warnings = append(k.c.Warnings, at.Problem(fmt.Sprintf(format, args...)))
}

func (k *checker) token(path, what, value string) {
	if value != "" && !token.MatchString(value) {
		k.Fault(path, "%s %s: %s", what, k.Quote(path), wantToken)
	}
}

// oneOf checks a value that may be absent.
func (k *checker) oneOf(path, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		k.Fault(path, "%s %s: %s", k.Key(path), k.Quote(path), choices(value, known))
	}
}

// choices names what is right, and of these what was meant.
func choices(value string, known []string) string {
	text := "want " + yamldoc.Alternatives(known)
	if near := yamldoc.Nearest(value, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// required reports an absent value.
func (k *checker) required(path, value, key, what string) bool {
	if value == "" {
		k.Fault(path, "%s", what+" has no "+key+"; add "+key+":")
	}
	return value != ""
}

// checkAgentNames reports names below the key agents at a path that no agent has.
func (k *checker) checkAgentNames(at string, names []string) {
	for i, name := range names {
		if p := fmt.Sprintf("%s.agents[%d]", at, i); k.ids != nil && !slices.Contains(k.ids, name) {
			k.Fault(p, "there is no agent %s; %s", k.Quote(p), yamldoc.Suggest(name, k.ids))
		}
	}
}

func validURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// sorted returns the names in a table in order, for messages and for checks
// that always come in the same order.
func sorted[V any](table map[string]V) []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
